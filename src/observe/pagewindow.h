/*
 * pagewindow.h: the memory of another process through a window that moves forward: which pages are there, and their bytes.
 *
 * Owns: two buffers (64 KiB of page states, 1 MiB of bytes).
 * Never: touches a page that is not resident: reading it would bring it back from swap, or make it. Stops the process.
 * Threading: one thread a window.
 * Errors: -ENODATA: the page is not resident; others as the source says (-ESRCH, -EPERM, -EFAULT: nothing lies there).
 * Cost: bytes are read ahead where they are looked at one after another, page by page where they are not.
 */
#ifndef EBBI_OBSERVE_PAGEWINDOW_H
#define EBBI_OBSERVE_PAGEWINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_BYTES 4096u

/* A process, or what a test says is one. */
struct page_source {
	/* Exactly `size` bytes; 0 or negative errno. */
	int (*read)(void *context, uint64_t address, void *ret_bytes, size_t size);
	/* `count` states as in /proc/PID/pagemap, from the page at `address` on. */
	int (*states)(void *context, uint64_t address, uint64_t *ret_states, size_t count);
	void *context;
};

struct page_window {
	struct page_source source;
	uint64_t states_from; /* address of the first page whose state is kept */
	size_t states_count;
	uint64_t bytes_from;
	size_t bytes_length;
	size_t ahead; /* how much the next read may take */
	uint64_t *states;
	char *bytes;
};

int ebbi_window_open(struct page_window *ret_window, const struct page_source *source);
void ebbi_window_close(struct page_window *window);

/* What was read is forgotten: the process went on. */
void ebbi_window_refresh(struct page_window *window);

/* `size` bytes, at most 4096. */
int ebbi_window_read(struct page_window *window, uint64_t address, void *ret_bytes, size_t size);

/* How much of [start, end), whole pages, is resident. */
int ebbi_window_resident(struct page_window *window, uint64_t start, uint64_t end, uint64_t *ret_bytes);

/* A large piece at once, into the caller's memory; pages that are not resident read as zero. */
int ebbi_window_copy(struct page_window *window, uint64_t address, void *ret_bytes, size_t size);

/* A living process as a source; ebbi_process_source_close when done. */
struct process_source {
	pid_t pid;
	int pagemap;
};
int ebbi_process_source(pid_t pid, struct process_source *process, struct page_source *ret_source);
void ebbi_process_source_close(struct process_source *process);

#endif
