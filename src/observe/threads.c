#include "observe/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/procread.h"

/* "202 0x7f..., ..., SP PC": the last but one of the words; "-1 SP PC" outside of a system call; "running". */
uint64_t ebbi_parse_stack_pointer(const char *bytes, size_t length)
{
	struct text text = ebbi_text(bytes, length);
	struct text line, word, before = {0};
	struct text last = {0};
	uint64_t pointer;

	if (!ebbi_text_line(&text, &line))
		return 0;
	while (ebbi_text_blanks(&line), ebbi_text_word(&line, &word)) {
		before = last;
		last = word;
	}
	if (!before.at || !ebbi_text_skip(&before, "0x") || !ebbi_text_hex(&before, &pointer))
		return 0;
	return pointer;
}

static void read_thread(pid_t pid, pid_t tid, struct thread_seen *thread)
{
	char name[64];
	char bytes[256];
	ssize_t length;

	*thread = (struct thread_seen){.tid = tid};
	snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
	length = ebbi_proc_read(pid, name, bytes, sizeof(bytes));
	if (length > 0) {
		struct text text = ebbi_text(bytes, (size_t)length);
		struct text line;

		if (ebbi_text_line(&text, &line))
			ebbi_text_copy(&line, thread->name, sizeof(thread->name));
	}
	snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
	length = ebbi_proc_read(pid, name, bytes, sizeof(bytes));
	if (length > 0)
		thread->stack_pointer = ebbi_parse_stack_pointer(bytes, (size_t)length);
}

int ebbi_threads_read(pid_t pid, struct thread_seen *ret_threads, size_t room, size_t *ret_count)
{
	struct dirent *entry;
	char path[64];
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(directory))) {
		char *end;
		long tid = strtol(entry->d_name, &end, 10);

		if (*end != 0 || tid <= 0)
			continue;
		if (count < room)
			read_thread(pid, (pid_t)tid, &ret_threads[count]);
		count++;
	}
	closedir(directory);
	*ret_count = count;
	return 0;
}
