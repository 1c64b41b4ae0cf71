#include "observe/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Descriptors kept open; a server may have thousands of children and we have 1024 descriptors. */
#define KEPT_DESCRIPTORS 256
/* Up to so many new pids are looked at one by one; beyond, reading all of /proc is cheaper. */
#define PROBE_LIMIT 128
#define FULL_SCAN_NS 200000000u

void ebbi_tree_init(struct tree *tree, pid_t launcher)
{
	*tree = (struct tree){.launcher = launcher};
}

void ebbi_tree_free(struct tree *tree)
{
	while (tree->count > 0)
		ebbi_tree_drop(tree, tree->processes[tree->count - 1].pid);
	free(tree->processes);
	tree->processes = NULL;
	tree->capacity = 0;
}

void ebbi_tree_exclude(struct tree *tree, pid_t helper)
{
	if (tree->stranger_count < TREE_STRANGERS)
		tree->strangers[tree->stranger_count++] = helper;
}

bool ebbi_tree_is_excluded(const struct tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->stranger_count; i++) {
		if (tree->strangers[i] == pid)
			return true;
	}
	return false;
}

static int exclude_child(void *context, pid_t pid)
{
	struct tree *tree = context;
	struct proc_stat stat;

	if (ebbi_proc_stat(pid, &stat) == 0 && stat.ppid == tree->launcher)
		ebbi_tree_exclude(tree, pid);
	return 0;
}

int ebbi_tree_exclude_all(struct tree *tree)
{
	return ebbi_proc_each(exclude_child, tree);
}

static size_t index_of(const struct tree *tree, pid_t pid)
{
	size_t i = 0;

	while (i < tree->count && tree->processes[i].pid != pid)
		i++;
	return i;
}

static int grow(struct tree *tree)
{
	size_t capacity = tree->capacity ? 2 * tree->capacity : 16;
	void *larger = realloc(tree->processes, capacity * sizeof(*tree->processes));

	if (!larger)
		return -ENOMEM;
	tree->processes = larger;
	tree->capacity = capacity;
	return 0;
}

static int add(struct tree *tree, const struct proc_stat *stat)
{
	struct tree_process *process;

	if (tree->count == tree->capacity && grow(tree) != 0)
		return -ENOMEM;
	process = &tree->processes[tree->count];
	process->pid = stat->pid;
	process->start_ticks = stat->start_ticks;
	process->statm_fd = -1;
	if (tree->count < KEPT_DESCRIPTORS) {
		process->statm_fd = ebbi_proc_statm_open(stat->pid);
		if (process->statm_fd == -ESRCH)
			return -ESRCH;
		if (process->statm_fd < 0)
			process->statm_fd = -1;
	}
	tree->count++;
	tree->seen++;
	return 0;
}

int ebbi_tree_add(struct tree *tree, pid_t pid)
{
	struct proc_stat stat;
	int error;

	if (index_of(tree, pid) < tree->count)
		return 0;
	error = ebbi_proc_stat(pid, &stat);
	return error != 0 ? error : add(tree, &stat);
}

static void drop_index(struct tree *tree, size_t i)
{
	if (tree->processes[i].statm_fd >= 0)
		close(tree->processes[i].statm_fd);
	tree->processes[i] = tree->processes[--tree->count];
}

void ebbi_tree_drop(struct tree *tree, pid_t pid)
{
	size_t i = index_of(tree, pid);

	if (i < tree->count)
		drop_index(tree, i);
}

/* The kernel answers for threads as well when asked by number: only leaders are processes. */
static bool is_leader(pid_t pid)
{
	struct proc_status status;

	return ebbi_proc_status(pid, &status) == 0 && status.tgid == pid;
}

/* Takes `pid` into the tree when it belongs there. -ENOMEM or 0. */
static int consider(void *context, pid_t pid)
{
	struct tree *tree = context;
	struct proc_stat stat;

	if (pid == tree->launcher || ebbi_tree_is_excluded(tree, pid) || index_of(tree, pid) < tree->count)
		return 0;
	if (ebbi_proc_stat(pid, &stat) != 0 || stat.state == 'Z' || stat.state == 'X')
		return 0;
	if (stat.ppid != tree->launcher && index_of(tree, stat.ppid) == tree->count)
		return 0;
	if (!is_leader(pid))
		return 0;
	return add(tree, &stat) == -ENOMEM ? -ENOMEM : 0;
}

static pid_t newest_pid(void)
{
	char bytes[128];
	ssize_t length = ebbi_read_file("/proc/loadavg", bytes, sizeof(bytes));
	pid_t newest;

	if (length < 0 || ebbi_parse_loadavg(bytes, (size_t)length, &newest) != 0)
		return 0;
	return newest;
}

/* Reads all of /proc until a pass finds nobody new: a child may be listed before its parent. */
static int scan_all(struct tree *tree, uint64_t now_ns)
{
	uint64_t before;
	int error;

	tree->scanned_ns = now_ns;
	do {
		before = tree->seen;
		error = ebbi_proc_each(consider, tree);
	} while (error == 0 && tree->seen != before);
	return error;
}

int ebbi_tree_update(struct tree *tree, uint64_t now_ns)
{
	pid_t newest = newest_pid();
	pid_t last = tree->newest;
	int error = 0;

	/* A newest pid below our own children's is no answer (or the numbers have wrapped). */
	if (newest == 0 || last == 0 || newest < last || newest - last > PROBE_LIMIT) {
		if (newest != 0 && newest == last)
			return 0;
		if (tree->scanned_ns != 0 && now_ns - tree->scanned_ns < FULL_SCAN_NS)
			return 0;
		tree->newest = newest;
		return scan_all(tree, now_ns);
	}
	tree->newest = newest;
	for (pid_t pid = last + 1; error == 0 && pid <= newest; pid++)
		error = consider(tree, pid);
	return error;
}

int ebbi_tree_rescan(struct tree *tree, uint64_t now_ns)
{
	tree->newest = newest_pid();
	ebbi_tree_rss(tree);
	return scan_all(tree, now_ns);
}

/* -ESRCH when the process is gone or a zombie. */
static int process_rss(const struct tree_process *process, uint64_t *ret_bytes)
{
	struct proc_statm statm;
	int fd = process->statm_fd >= 0 ? process->statm_fd : ebbi_proc_statm_open(process->pid);
	int error = fd < 0 ? fd : ebbi_proc_statm(fd, &statm);

	if (fd >= 0 && process->statm_fd < 0)
		close(fd);
	if (error == 0 && statm.size_bytes == 0)
		error = -ESRCH;
	if (error == 0)
		*ret_bytes = statm.resident_bytes;
	return error;
}

uint64_t ebbi_tree_rss(struct tree *tree)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tree->count;) {
		uint64_t bytes = 0;

		if (process_rss(&tree->processes[i], &bytes) == -ESRCH) {
			drop_index(tree, i);
			continue;
		}
		tree->processes[i].rss_bytes = bytes;
		sum += bytes;
		i++;
	}
	return sum;
}

void ebbi_tree_times(struct tree *tree, struct tree_times *ret_times)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct tree_times times = {0};

	for (size_t i = 0; i < tree->count; i++) {
		struct proc_stat stat;

		if (ebbi_proc_stat(tree->processes[i].pid, &stat) != 0 ||
		    stat.start_ticks != tree->processes[i].start_ticks)
			continue;
		times.user_ns += (stat.user_ticks + stat.child_user_ticks) * tick_ns;
		times.system_ns += (stat.system_ticks + stat.child_system_ticks) * tick_ns;
		times.minor_faults += stat.minor_faults + stat.child_minor_faults;
		times.major_faults += stat.major_faults + stat.child_major_faults;
		times.threads += stat.threads;
		times.running += stat.state == 'R' || stat.state == 'D';
	}
	*ret_times = times;
}

void ebbi_tree_memory(struct tree *tree, struct tree_memory *ret_memory)
{
	struct tree_memory memory = {0};

	for (size_t i = 0; i < tree->count; i++) {
		struct proc_rollup rollup;
		int error = ebbi_proc_rollup(tree->processes[i].pid, &rollup);

		if (error == -ESRCH)
			continue;
		memory.processes++;
		if (error != 0) {
			memory.refused++;
			continue;
		}
		memory.rss_bytes += rollup.rss_bytes;
		memory.pss_bytes += rollup.pss_bytes;
		memory.anonymous_bytes += rollup.anonymous_bytes;
		memory.lazyfree_bytes += rollup.lazyfree_bytes;
		memory.huge_bytes += rollup.huge_bytes;
		memory.swap_bytes += rollup.swap_bytes;
		memory.swap_pss_bytes += rollup.swap_pss_bytes;
	}
	*ret_memory = memory;
}

uint64_t ebbi_tree_hwm(struct tree *tree)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < tree->count; i++) {
		struct proc_status status;

		if (ebbi_proc_status(tree->processes[i].pid, &status) == 0 && status.has_memory &&
		    status.hwm_bytes > largest)
			largest = status.hwm_bytes;
	}
	return largest;
}
