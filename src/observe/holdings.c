#include "observe/holdings.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "observe/shared.h"
#include "observe/smaps.h"
#include "observe/threads.h"

#define HEADERS_MOST 32
#define LOOKS 3
#define LOOK_NS 1000000

struct collector {
	pid_t pid;
	struct holdings *holdings;
	struct thread_seen threads[THREADS_MOST];
	size_t thread_count; /* of those kept */
	/* The object that the mapping before belonged to, for its zeroed data; NULL: none. */
	struct holding *object;
	uint64_t object_end; /* where its data ends by its program headers; 0: not known */
	uint64_t last_end;
	bool is_object[HOLDINGS_MOST]; /* of files: something of it may be executed */
};

static struct holding *holding_for(struct holdings *holdings, enum holder holder, const char *name)
{
	struct holding *holding = holdings->all;

	for (size_t i = 0; i < holdings->count; i++, holding++) {
		if (holding->holder == holder && strcmp(holding->name, name) == 0)
			return holding;
	}
	/* The last ones are for "others", one a holder. */
	if (holdings->count >= HOLDINGS_MOST - (HOLDER_KERNEL + 1) && strcmp(name, "others") != 0)
		return holding_for(holdings, holder, "others");
	holding->holder = holder;
	snprintf(holding->name, sizeof(holding->name), "%s", name);
	holdings->count++;
	return holding;
}

/* --- Objects ----------------------------------------------------------------------------- */

/* Where the last loaded segment of the object at `start` ends, its zeroed part included; 0 when that is not told. */
static uint64_t end_of_object(pid_t pid, uint64_t start)
{
	Elf64_Ehdr head;
	Elf64_Phdr headers[HEADERS_MOST];
	uint64_t lowest = UINT64_MAX, highest = 0;
	size_t count;

	if (ebbi_shared_read(pid, start, &head, sizeof(head)) != 0 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(headers[0]))
		return 0;
	count = head.e_phnum < HEADERS_MOST ? head.e_phnum : HEADERS_MOST;
	if (head.e_phoff > 4096 ||
	    ebbi_shared_read(pid, start + head.e_phoff, headers, count * sizeof(headers[0])) != 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const Elf64_Phdr *at = &headers[i];

		if (at->p_type != PT_LOAD)
			continue;
		lowest = at->p_vaddr < lowest ? at->p_vaddr : lowest;
		highest = at->p_vaddr + at->p_memsz > highest ? at->p_vaddr + at->p_memsz : highest;
	}
	/* In whole pages, whatever their size: mappings end at one. */
	return highest > lowest ? start + highest - (lowest & ~(uint64_t)4095) + 4095 : 0;
}

/* The file's name without its directories. */
static void base_name(const struct text *path, char *ret_name)
{
	const char *slash = memrchr(path->at, '/', ebbi_text_length(path));
	struct text base = {.at = slash ? slash + 1 : path->at, .end = path->end};

	ebbi_text_copy(&base, ret_name, HOLDING_NAME);
}

static struct holding *file_holding(struct collector *collector, const struct proc_map *map)
{
	char name[HOLDING_NAME];
	struct holding *holding;

	base_name(&map->path, name);
	holding = holding_for(collector->holdings, HOLDER_FILE, name);
	if (map->executable)
		collector->is_object[holding - collector->holdings->all] = true;
	if (map->offset_bytes == 0)
		collector->object_end = end_of_object(collector->pid, map->start);
	collector->object = holding;
	return holding;
}

static bool is_zeroed_data(const struct collector *collector, const struct proc_map *map)
{
	return collector->object && map->start == collector->last_end && collector->object_end != 0 &&
	       map->end <= collector->object_end;
}

/* --- Stacks ------------------------------------------------------------------------------ */

/* The name of the only thread whose stack pointer lies in the mapping; NULL: none or several. */
static const char *stack_of(const struct collector *collector, const struct proc_map *map)
{
	const char *name = NULL;

	for (size_t i = 0; i < collector->thread_count; i++) {
		uint64_t at = collector->threads[i].stack_pointer;

		if (at < map->start || at >= map->end)
			continue;
		if (name)
			return NULL;
		name = collector->threads[i].name;
	}
	return name;
}

/* Of those that ran, again, until they sleep. */
static void read_threads(struct collector *collector)
{
	struct thread_seen *again = collector->threads;
	struct timespec pause = {.tv_nsec = LOOK_NS};
	size_t count = 0, unsure = 0;

	for (unsigned look = 0; look < LOOKS; look++) {
		static struct thread_seen before[THREADS_MOST];
		size_t before_count = collector->thread_count;

		memcpy(before, again, before_count * sizeof(before[0]));
		if (look > 0)
			nanosleep(&pause, NULL);
		if (ebbi_threads_read(collector->pid, again, THREADS_MOST, &count) != 0)
			return;
		collector->thread_count = count < THREADS_MOST ? count : THREADS_MOST;
		unsure = count - collector->thread_count;
		for (size_t i = 0; i < collector->thread_count; i++) {
			if (i < before_count && again[i].stack_pointer == 0 && before[i].tid == again[i].tid)
				again[i].stack_pointer = before[i].stack_pointer;
			unsure += again[i].stack_pointer == 0 && again[i].tid != collector->pid;
		}
		if (unsure == 0)
			break;
	}
	collector->holdings->stacks_unsure = unsure;
}

/* --- Mappings ---------------------------------------------------------------------------- */

static bool begins(const struct text *path, const char *with)
{
	struct text text = *path;

	return ebbi_text_skip(&text, with);
}

/* "[anon:NAME]" and "[anon_shmem:NAME]" without the brackets. */
static void anonymous_name(const struct text *path, char *ret_name)
{
	struct text name = *path;

	if (!ebbi_text_skip(&name, "[anon:"))
		(void)ebbi_text_skip(&name, "[anon_shmem:");
	if (name.end > name.at && name.end[-1] == ']')
		name.end--;
	ebbi_text_copy(&name, ret_name, HOLDING_NAME);
}

static struct holding *unnamed(struct collector *collector, const struct proc_map *map)
{
	const char *thread = map->writable && !map->shared ? stack_of(collector, map) : NULL;

	if (is_zeroed_data(collector, map))
		return collector->object;
	collector->object = NULL;
	if (!thread)
		return holding_for(collector->holdings, HOLDER_ANONYMOUS, "anonymous");
	collector->holdings->stacks++;
	return holding_for(collector->holdings, HOLDER_STACK, thread[0] ? thread : "unnamed");
}

static struct holding *bracketed(struct collector *collector, const struct proc_map *map)
{
	char name[HOLDING_NAME];

	collector->object = NULL;
	if (begins(&map->path, "[anon")) {
		anonymous_name(&map->path, name);
		if (strcmp(name, "ebb") == 0 || strncmp(name, "ebb:", 4) == 0)
			return holding_for(collector->holdings, HOLDER_HEAP, name);
		return holding_for(collector->holdings, map->shared ? HOLDER_SHARED : HOLDER_NAMED, name);
	}
	if (begins(&map->path, "[stack")) {
		collector->holdings->stacks++;
		return holding_for(collector->holdings, HOLDER_STACK, "main");
	}
	if (begins(&map->path, "[heap"))
		return holding_for(collector->holdings, HOLDER_BRK, "[heap]");
	ebbi_text_copy(&map->path, name, sizeof(name));
	return holding_for(collector->holdings, HOLDER_KERNEL, name);
}

static int take(void *context, const struct smaps_mapping *mapping)
{
	struct collector *collector = context;
	struct holdings *holdings = collector->holdings;
	const struct proc_map *map = &mapping->map;
	struct holding *holding;
	char name[HOLDING_NAME];

	if (ebbi_text_length(&map->path) == 0) {
		holding = unnamed(collector, map);
	} else if (*map->path.at == '[') {
		holding = bracketed(collector, map);
	} else if (begins(&map->path, "/dev/shm/") || begins(&map->path, "/memfd:") || begins(&map->path, "/SYSV") ||
		   begins(&map->path, "/dev/zero")) {
		base_name(&map->path, name);
		collector->object = NULL;
		holding = holding_for(holdings, HOLDER_SHARED, name);
	} else {
		holding = file_holding(collector, map);
	}
	collector->last_end = map->end;
	holding->mappings++;
	holding->rss_bytes += mapping->rss_bytes;
	holdings->rss_bytes += mapping->rss_bytes;
	holdings->lazyfree_bytes += mapping->lazyfree_bytes;
	holdings->swap_bytes += mapping->swap_bytes;
	return 0;
}

int ebbi_holdings_read(pid_t pid, struct holdings *ret_holdings)
{
	static struct collector collector; /* some 40 KiB */
	int error;

	memset(ret_holdings, 0, sizeof(*ret_holdings));
	memset(&collector, 0, sizeof(collector));
	collector.pid = pid;
	collector.holdings = ret_holdings;
	read_threads(&collector);
	error = ebbi_proc_smaps(pid, take, &collector);
	for (size_t i = 0; i < ret_holdings->count; i++) {
		if (collector.is_object[i])
			ret_holdings->all[i].holder = HOLDER_OBJECT;
	}
	return error;
}

uint64_t ebbi_holdings_of(const struct holdings *holdings, enum holder holder)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < holdings->count; i++)
		bytes += holdings->all[i].holder == holder ? holdings->all[i].rss_bytes : 0;
	return bytes;
}
