/*
 * mallinfo.c: glibc's questions about the heap, answered from the snapshot.
 *
 * The fields keep their documented sense as far as it carries over: uordblks is live, fordblks is what
 * is free and resident, hblk* are blocks above the size classes, keepcost is what malloc_trim could give back.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include <ebb/ebb.h>

#include "api/names.h"
#include "heap/heap.h"
#include "platform/libc.h"

EBBI_EXPORT int malloc_trim(size_t pad)
{
	(void)pad;
	return ebbi_heap_purge() > 0;
}

EBBI_EXPORT struct mallinfo2 mallinfo2(void)
{
	struct ebb_snapshot snapshot;
	struct mallinfo2 info = {0};

	if (ebb_snapshot(&snapshot, offsetof(struct ebb_snapshot, classes)) != 0)
		return info;
	info.arena = snapshot.resident_bytes - snapshot.live_large_bytes;
	info.hblkhd = snapshot.live_large_bytes;
	info.uordblks = snapshot.live_bytes;
	info.fsmblks = snapshot.held_cache_bytes;
	info.fordblks = snapshot.held_cache_bytes + snapshot.held_hole_bytes + snapshot.held_slack_bytes +
			snapshot.held_run_bytes;
	info.keepcost = snapshot.held_hole_bytes + snapshot.held_run_bytes;
	return info;
}

static int narrow(size_t value)
{
	return value > INT_MAX ? INT_MAX : (int)value;
}

/* The old form, in ints: figures that do not fit stay at the largest int instead of wrapping. */
EBBI_EXPORT struct mallinfo mallinfo(void)
{
	struct mallinfo2 wide = mallinfo2();

	return (struct mallinfo){
		.arena = narrow(wide.arena),
		.hblkhd = narrow(wide.hblkhd),
		.uordblks = narrow(wide.uordblks),
		.fsmblks = narrow(wide.fsmblks),
		.fordblks = narrow(wide.fordblks),
		.keepcost = narrow(wide.keepcost),
	};
}

EBBI_EXPORT int malloc_info(int options, FILE *stream)
{
	struct ebb_snapshot snapshot;

	if (options != 0 || stream == NULL || ebb_snapshot(&snapshot, offsetof(struct ebb_snapshot, accounts)) != 0) {
		errno = EINVAL;
		return -1;
	}
	fprintf(stream, "<malloc version=\"ebb-1\">\n<heap nr=\"0\">\n<sizes>\n");
	for (unsigned i = 0; i < EBB_SNAPSHOT_CLASSES && snapshot.classes[i].size_bytes != 0; i++) {
		const struct ebb_class *at = &snapshot.classes[i];

		if (at->slabs != 0)
			fprintf(stream, "<size from=\"%llu\" to=\"%llu\" total=\"%llu\" count=\"%llu\"/>\n",
				(unsigned long long)at->size_bytes, (unsigned long long)at->size_bytes,
				(unsigned long long)(at->free_slots * at->size_bytes),
				(unsigned long long)at->free_slots);
	}
	fprintf(stream, "</sizes>\n<statistics>\n");
#define EBB_STAT(name, unit, help) fprintf(stream, "<" #name ">%llu</" #name ">\n", (unsigned long long)snapshot.name);
#include <ebb/stats.def>
#undef EBB_STAT
	fprintf(stream, "</statistics>\n</heap>\n<system type=\"current\" size=\"%llu\"/>\n</malloc>\n",
		(unsigned long long)snapshot.resident_bytes);
	if (fflush(stream) != 0 || ferror(stream))
		return -1;
	return 0;
}

/* glibc's knobs mean nothing here; 1 says that the value was taken note of, as glibc does for most. */
EBBI_EXPORT int mallopt(int parameter, int value)
{
	(void)parameter;
	(void)value;
	return 1;
}
