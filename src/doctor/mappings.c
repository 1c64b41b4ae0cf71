#include "doctor/mappings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/files.h"
#include "observe/smaps.h"

#define GUARD_MOST (1u << 20)
#define STACK_LEAST (16u << 10)
#define ARENA_ALIGN ((uint64_t)64 << 20)
/* Fewer stacks tell nothing of a typical one. */
#define TYPICAL_LEAST 4u

/* Files whose mappings may be executed: objects. */
#define OBJECTS_MOST 512

struct file_sum {
	uint64_t inode;
	bool executable;
	bool shared;
	uint64_t rss_bytes;
	uint64_t dirty_bytes;
};

struct reading {
	size_t mappings;
	uint64_t guard_end; /* where the small mapping without rights before this one ends */
	uint64_t rss_bytes, anon_bytes, shm_bytes, lazyfree_bytes, huge_bytes, swap_bytes;
	uint64_t stack_count, stack_bytes, arenas;
	uint64_t main_stack_bytes;
	size_t file_count;
	struct file_sum files[OBJECTS_MOST];
	uint64_t more_file_bytes; /* of files beyond the table */
};

static bool named(const struct text *path, const char *start)
{
	size_t length = strlen(start);

	return ebbi_text_length(path) >= length && memcmp(path->at, start, length) == 0;
}

static bool is_shared_memory(const struct proc_map *map)
{
	return named(&map->path, "/dev/shm/") || named(&map->path, "/SYSV") || named(&map->path, "/memfd:") ||
	       named(&map->path, "/dev/zero");
}

static void add_file(struct reading *reading, const struct smaps_mapping *mapping)
{
	uint64_t file_bytes =
		mapping->rss_bytes -
		(mapping->anonymous_bytes < mapping->rss_bytes ? mapping->anonymous_bytes : mapping->rss_bytes);
	struct file_sum *file = NULL;

	for (size_t i = 0; i < reading->file_count && !file; i++) {
		if (reading->files[i].inode == mapping->map.inode)
			file = &reading->files[i];
	}
	if (!file && reading->file_count == OBJECTS_MOST) {
		reading->more_file_bytes += file_bytes;
		return;
	}
	if (!file) {
		file = &reading->files[reading->file_count++];
		*file = (struct file_sum){.inode = mapping->map.inode};
	}
	file->executable |= mapping->map.executable;
	file->rss_bytes += file_bytes;
	file->dirty_bytes += mapping->map.shared ? mapping->dirty_bytes : 0;
}

static void add_anonymous(struct reading *reading, const struct smaps_mapping *mapping)
{
	const struct proc_map *map = &mapping->map;
	uint64_t size = map->end - map->start;

	if (named(&map->path, "[stack")) {
		reading->main_stack_bytes += mapping->rss_bytes;
		return;
	}
	if (ebbi_text_length(&map->path) > 0 || !map->writable)
		return;
	if (map->start % ARENA_ALIGN == 0 && size <= ARENA_ALIGN)
		reading->arenas++;
	else if (reading->guard_end == map->start && size >= STACK_LEAST) {
		reading->stack_count++;
		reading->stack_bytes += mapping->rss_bytes;
	}
}

static int each_mapping(void *context, const struct smaps_mapping *mapping)
{
	struct reading *reading = context;
	const struct proc_map *map = &mapping->map;

	reading->mappings++;
	reading->rss_bytes += mapping->rss_bytes;
	reading->anon_bytes += mapping->anonymous_bytes;
	reading->lazyfree_bytes += mapping->lazyfree_bytes;
	reading->huge_bytes += mapping->huge_bytes;
	reading->swap_bytes += mapping->swap_bytes;
	if (is_shared_memory(map))
		reading->shm_bytes += mapping->rss_bytes;
	else if (map->inode != 0)
		add_file(reading, mapping);
	else
		add_anonymous(reading, mapping);
	reading->guard_end = 0;
	if (!map->readable && !map->writable && !map->executable && map->end - map->start <= GUARD_MOST &&
	    map->inode == 0)
		reading->guard_end = map->end;
	return 0;
}

static void conclude(struct facts *facts, const struct reading *reading)
{
	uint64_t objects = 0, data = reading->more_file_bytes, dirty = 0;

	for (size_t i = 0; i < reading->file_count; i++) {
		const struct file_sum *file = &reading->files[i];

		objects += file->executable ? file->rss_bytes : 0;
		data += file->executable ? 0 : file->rss_bytes;
		dirty += file->executable ? 0 : file->dirty_bytes;
	}
	ebbi_fact_set(facts, FACT_OBJECTS, objects, "smaps");
	ebbi_fact_set(facts, FACT_FILE_DATA, data, "smaps");
	ebbi_fact_set(facts, FACT_FILE_DATA_DIRTY, dirty, "smaps");
	ebbi_fact_set(facts, FACT_STACKS, reading->stack_bytes + reading->main_stack_bytes, "smaps");
	ebbi_fact_set(facts, FACT_STACK_COUNT, reading->stack_count, "smaps");
	if (reading->stack_count >= TYPICAL_LEAST)
		ebbi_fact_set(facts, FACT_STACK_EACH, reading->stack_bytes / reading->stack_count, "smaps");
	ebbi_fact_set(facts, FACT_ARENAS, reading->arenas, "smaps");
	ebbi_fact_set(facts, FACT_LAZYFREE, reading->lazyfree_bytes, "smaps");
	ebbi_fact_set(facts, FACT_ANON_HUGE, reading->huge_bytes, "smaps");
	ebbi_fact_set(facts, FACT_RSS_SHMEM, reading->shm_bytes, "smaps");
}

int ebbi_facts_from_smaps(struct facts *facts, const struct text *text, char *ret_message)
{
	struct reading reading = {0};
	struct smaps_parser parser = {.each = each_mapping, .context = &reading};
	struct text rest = *text, line;

	while (ebbi_text_line(&rest, &line))
		(void)ebbi_smaps_line(&parser, &line);
	(void)ebbi_smaps_end(&parser);
	if (reading.mappings == 0) {
		snprintf(ret_message, FACTS_MESSAGE, "smaps: no mapping in it: is it a copy of /proc/PID/smaps?");
		return -EINVAL;
	}
	conclude(facts, &reading);
	/* A file that was cut would tell too little of all: those of the whole are the kernel's sums, if there are any. */
	ebbi_fact_set(facts, FACT_RSS, reading.rss_bytes, "smaps");
	ebbi_fact_set(facts, FACT_RSS_ANON, reading.anon_bytes, "smaps");
	ebbi_fact_set(facts, FACT_SWAP, reading.swap_bytes, "smaps");
	return 0;
}
