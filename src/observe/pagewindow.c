#include "observe/pagewindow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/shared.h"

#define STATES 8192u
#define BYTES (1u << 20)
#define PRESENT ((uint64_t)1 << 63)
#define PAGE_MASK (~(uint64_t)(PAGE_BYTES - 1))

int ebbi_window_open(struct page_window *ret_window, const struct page_source *source)
{
	*ret_window = (struct page_window){.source = *source, .ahead = PAGE_BYTES};
	ret_window->states = malloc(STATES * sizeof(uint64_t));
	ret_window->bytes = malloc(BYTES);
	if (ret_window->states && ret_window->bytes)
		return 0;
	ebbi_window_close(ret_window);
	return -ENOMEM;
}

void ebbi_window_close(struct page_window *window)
{
	free(window->states);
	free(window->bytes);
	window->states = NULL;
	window->bytes = NULL;
}

void ebbi_window_refresh(struct page_window *window)
{
	window->states_count = 0;
	window->bytes_length = 0;
	window->ahead = PAGE_BYTES;
}

/* The states of pages from `page` on: how many are kept, at least one. */
static int states_at(struct page_window *window, uint64_t page, const uint64_t **ret_states, size_t *ret_count)
{
	uint64_t behind = page - window->states_from;

	if (page < window->states_from || behind / PAGE_BYTES >= window->states_count) {
		int error = window->source.states(window->source.context, page, window->states, STATES);

		window->states_count = 0;
		if (error != 0)
			return error;
		window->states_from = page;
		window->states_count = STATES;
		behind = 0;
	}
	*ret_states = window->states + behind / PAGE_BYTES;
	*ret_count = window->states_count - behind / PAGE_BYTES;
	return 0;
}

static int fill(struct page_window *window, uint64_t page)
{
	uint64_t last = window->bytes_from + window->bytes_length;
	const uint64_t *states;
	size_t count, wanted, here = 0;
	int error = states_at(window, page, &states, &count);

	if (error != 0)
		return error;
	/* Right behind what was read last: more at once. */
	if (window->bytes_length == 0 || page != last)
		window->ahead = PAGE_BYTES;
	else if (window->ahead < BYTES)
		window->ahead *= 2;
	wanted = window->ahead / PAGE_BYTES;
	wanted = wanted < count ? wanted : count;
	while (here < wanted && (states[here] & PRESENT))
		here++;
	window->bytes_length = 0;
	if (here == 0)
		return -ENODATA;
	error = window->source.read(window->source.context, page, window->bytes, here * PAGE_BYTES);
	if (error != 0 && here > 1) {
		here = 1;
		error = window->source.read(window->source.context, page, window->bytes, PAGE_BYTES);
	}
	if (error != 0)
		return error;
	window->bytes_from = page;
	window->bytes_length = here * PAGE_BYTES;
	return 0;
}

int ebbi_window_read(struct page_window *window, uint64_t address, void *ret_bytes, size_t size)
{
	char *to = ret_bytes;

	while (size > 0) {
		uint64_t behind = address - window->bytes_from;
		size_t part;

		if (address < window->bytes_from || behind >= window->bytes_length) {
			int error = fill(window, address & PAGE_MASK);

			if (error != 0)
				return error;
			continue;
		}
		part = window->bytes_length - (size_t)behind;
		part = part < size ? part : size;
		memcpy(to, window->bytes + behind, part);
		to += part;
		address += part;
		size -= part;
	}
	return 0;
}

int ebbi_window_resident(struct page_window *window, uint64_t start, uint64_t end, uint64_t *ret_bytes)
{
	uint64_t pages = 0;

	for (uint64_t page = start; page < end;) {
		const uint64_t *states;
		size_t count, wanted = (size_t)((end - page) / PAGE_BYTES);
		int error = states_at(window, page, &states, &count);

		if (error != 0)
			return error;
		count = count < wanted ? count : wanted;
		if (count == 0)
			break;
		for (size_t i = 0; i < count; i++)
			pages += states[i] >> 63;
		page += count * PAGE_BYTES;
	}
	*ret_bytes = pages * PAGE_BYTES;
	return 0;
}

int ebbi_window_copy(struct page_window *window, uint64_t address, void *ret_bytes, size_t size)
{
	char *to = ret_bytes;

	memset(to, 0, size);
	for (size_t at = 0; at < size;) {
		size_t part = PAGE_BYTES - (size_t)((address + at) & (PAGE_BYTES - 1));
		int error;

		part = part < size - at ? part : size - at;
		error = ebbi_window_read(window, address + at, to + at, part);
		if (error != 0 && error != -ENODATA && error != -EFAULT)
			return error;
		at += part;
	}
	return 0;
}

/* --- A living process ------------------------------------------------------------------------ */

static int read_process(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	const struct process_source *process = context;

	return ebbi_shared_read(process->pid, address, ret_bytes, size);
}

static int read_states(void *context, uint64_t address, uint64_t *ret_states, size_t count)
{
	const struct process_source *process = context;
	ssize_t got = pread(process->pagemap, ret_states, count * sizeof(*ret_states),
			    (off_t)(address / PAGE_BYTES * sizeof(*ret_states)));

	if (got < 0)
		return -errno;
	/* Where the address space ends. */
	memset((char *)ret_states + got, 0, count * sizeof(*ret_states) - (size_t)got);
	return 0;
}

int ebbi_process_source(pid_t pid, struct process_source *process, struct page_source *ret_source)
{
	char path[64];

	if (sysconf(_SC_PAGESIZE) != (long)PAGE_BYTES)
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	process->pid = pid;
	process->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (process->pagemap < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_source = (struct page_source){read_process, read_states, process};
	return 0;
}

void ebbi_process_source_close(struct process_source *process)
{
	close(process->pagemap);
}
