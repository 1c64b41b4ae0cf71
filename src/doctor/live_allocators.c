#include "doctor/live_allocators.h"

#include <stdio.h>

#include "observe/allocators.h"

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
