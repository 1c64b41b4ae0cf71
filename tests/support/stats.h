/*
 * stats.h: libebb's own figures, for test programs that also run on other allocators.
 *
 * Owns: nothing. Never: allocates. Threading: any. Errors: stats_get() is false when the process
 * does not run on libebb. Invariants: a snapshot that fails on libebb fails the test.
 */
#ifndef EBB_TESTS_STATS_H
#define EBB_TESTS_STATS_H

#include "check.h"

#include <ebb/ebb.h>

typedef int stats_snapshot_fn(struct ebb_snapshot *, size_t);

static inline bool stats_get(struct ebb_snapshot *ret_snapshot)
{
	void *symbol = check_symbol("ebb_snapshot");
	stats_snapshot_fn *snapshot;

	memcpy(&snapshot, &symbol, sizeof(snapshot));
	if (snapshot == NULL)
		return false;
	CHECK(snapshot(ret_snapshot, sizeof(*ret_snapshot)) == 0, "ebb_snapshot");
	return true;
}

/* Waits until RssAnon is at most `kib` without calling the allocator; false after `seconds`. */
static inline bool stats_wait_rss(long kib, unsigned seconds)
{
	for (unsigned i = 0; i < seconds * 20; i++) {
		if (proc_status("RssAnon:") <= kib)
			return true;
		sleep_ms(50);
	}
	return false;
}

#endif
