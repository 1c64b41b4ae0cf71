#include "doctor/live_allocators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/files.h"
#include "observe/allocators.h"
#include "observe/glibc_heap.h"

/* The libc's malloc is in every process, and idle where a preloaded or linked one has its place. */
static bool serves(const struct process_allocator *allocator, bool has_malloc)
{
	bool of_libc = allocator->id == ALLOCATOR_GLIBC || allocator->id == ALLOCATOR_MUSL;

	return allocator->is_malloc || !has_malloc || !of_libc;
}

void ebbi_facts_from_allocators(struct facts *facts, pid_t pid)
{
	static struct process_allocators found;
	const struct process_allocator *first;

	if (ebbi_allocators(pid, &found) != 0)
		return;
	first = ebbi_allocators_malloc(&found);
	if (first && facts->allocator[0] == 0)
		snprintf(facts->allocator, sizeof(facts->allocator), "%s", ebbi_allocator_name(first->id));
	if (facts->allocator[0])
		ebbi_facts_add_allocator(facts, facts->allocator);
	for (size_t i = 0; i < found.count; i++) {
		char name[64];

		if (!serves(&found.all[i], first != NULL))
			continue;
		snprintf(name, sizeof(name), "%s%s%s%s", ebbi_allocator_name(found.all[i].id),
			 found.all[i].prefix[0] ? " (" : "", found.all[i].prefix, found.all[i].prefix[0] ? ")" : "");
		ebbi_facts_add_allocator(facts, name);
	}
}

static void set(struct facts *facts, enum fact_id id, uint64_t value, uint64_t bound)
{
	ebbi_fact_set(facts, id, value, "heap walk");
	facts->all[id].bound = bound;
}

static int by_resident(const void *a, const void *b)
{
	const struct glibc_arena *left = a, *right = b;

	return left->resident_bytes < right->resident_bytes ? 1 : left->resident_bytes > right->resident_bytes ? -1 : 0;
}

static void add_arenas(struct facts *facts, struct glibc_heap *heap)
{
	qsort(heap->arenas, heap->arena_count, sizeof(heap->arenas[0]), by_resident);
	facts->arena_count = heap->arena_count;
	for (size_t i = 0; i < heap->arena_count && i < FACTS_ARENAS; i++) {
		const struct glibc_arena *arena = &heap->arenas[i];

		facts->arenas[i] = (struct arena_fact){
			.main = arena->main,
			.resident_bytes = arena->resident_bytes,
			.live_bytes = arena->live_bytes,
			.trimmable_bytes = arena->trimmable_bytes,
			.pinned_bytes = arena->pinned_bytes,
			.top_kept_bytes = arena->top_kept_bytes,
			.not_walked_bytes = arena->not_walked_bytes,
		};
	}
}

int ebbi_facts_from_glibc(struct facts *facts, pid_t pid, bool stop, char *ret_message)
{
	static struct glibc_heap heap;
	const struct glibc_arena *sum = &heap.total;
	uint64_t live, held, unsure;
	int error;

	if (strcmp(facts->allocator, "glibc") != 0 || ebbi_known(facts, FACT_LIVE))
		return 0;
	error = ebbi_glibc_heap(pid, stop, &heap);
	if (error != 0 && stop && !heap.stopped) {
		snprintf(
			ret_message, FACTS_MESSAGE,
			"process %d: it could not be stopped (%s): does a debugger hold it? Without --stop its heap is read "
			"while it runs",
			(int)pid, strerror(-error));
		return error;
	}
	if (error == -ESRCH) {
		snprintf(ret_message, FACTS_MESSAGE, "process %d: it ended while it was looked at", (int)pid);
		return error;
	}
	/* So little of it was read that its sums would mislead. */
	if (error == -EAGAIN || (error == 0 && sum->not_walked_bytes > sum->system_bytes / 4))
		ebbi_fact_set(facts, FACT_HEAP_MOVED, 1, "heap walk");
	if (error != 0 || sum->not_walked_bytes > sum->system_bytes / 4)
		return 0;
	live = sum->live_bytes - (heap.cached_bytes < sum->live_bytes ? heap.cached_bytes : sum->live_bytes);
	held = sum->trimmable_bytes + sum->top_kept_bytes + sum->pinned_bytes + heap.cached_bytes;
	/* What was not walked may be either; so may be what lies in caches that were not found. */
	unsure = sum->not_walked_bytes + heap.cached_bound_bytes;
	set(facts, FACT_LIVE, live + heap.mapped_resident_bytes, unsure);
	set(facts, FACT_HELD, held, unsure);
	set(facts, FACT_SYSTEM, sum->system_bytes + heap.mapped_bytes, 0);
	set(facts, FACT_RESIDENT, sum->resident_bytes + heap.mapped_resident_bytes, 0);
	set(facts, FACT_TRIMMABLE, sum->trimmable_bytes, sum->not_walked_bytes);
	set(facts, FACT_PINNED, sum->pinned_bytes, sum->not_walked_bytes);
	set(facts, FACT_ARENAS, sum->heaps > 0 ? heap.arena_count : 0, 0);
	add_arenas(facts, &heap);
	return 0;
}
