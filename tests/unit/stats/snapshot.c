/* Figures: what they add up to when nothing else happens, the shared copy, and the text. */
#include "stats/snapshot.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "heap/fast.h"
#include "heap/inside.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static struct ebb_snapshot take(void)
{
	struct ebb_snapshot snapshot;
	struct ebbi_cache *cache = ebbi_thread_cache();

	CHECK_EQ(ebbi_heap_enter(cache), EBBI_ENTERED);
	ebbi_snapshot_take(&snapshot);
	ebbi_handshake_leave(&cache->handshake);
	return snapshot;
}

static const struct ebb_class *class_of(const struct ebb_snapshot *snapshot, size_t bytes)
{
	for (unsigned i = 0; i < EBB_SNAPSHOT_CLASSES && snapshot->classes[i].size_bytes != 0; i++)
		if (snapshot->classes[i].size_bytes == bytes)
			return &snapshot->classes[i];
	return NULL;
}

TEST(head)
{
	struct ebb_snapshot snapshot = take();
	unsigned classes = 0;

	CHECK_EQ(snapshot.size_bytes, sizeof(snapshot));
	CHECK_EQ(snapshot.version, EBB_SNAPSHOT_VERSION);
	CHECK_EQ(snapshot.stats, EBB_SNAPSHOT_STATS);
	CHECK_EQ(snapshot.classes_room, EBB_SNAPSHOT_CLASSES);
	CHECK_EQ(snapshot.accounts_room, EBB_SNAPSHOT_ACCOUNTS);
	CHECK_EQ(snapshot.owners_room, EBB_SNAPSHOT_OWNERS);
	while (snapshot.classes[classes].size_bytes != 0)
		classes++;
	CHECK_EQ(classes, EBBI_CLASSES - 1u);
	CHECK_EQ(snapshot.threads, 1u);
}

TEST(live_small)
{
	static void *blocks[1000];
	struct ebb_snapshot before = take();
	struct ebb_snapshot after;

	for (unsigned i = 0; i < 1000; i++)
		blocks[i] = ebbi_fast_alloc(100);
	after = take();
	CHECK_EQ(after.live_bytes - before.live_bytes, 1000u * 112);
	CHECK_EQ(class_of(&after, 112)->live_slots, 1000u);
	CHECK_EQ(class_of(&after, 112)->slabs, 2u);
	CHECK_EQ(class_of(&after, 112)->live_slots + class_of(&after, 112)->cached_slots +
			 class_of(&after, 112)->free_slots,
		 2u * ebbi_sizes[EBBI_CLASS_112].slots);
	CHECK_EQ(after.held_cache_bytes, before.held_cache_bytes + class_of(&after, 112)->cached_slots * 112);
	CHECK_GE(after.resident_bytes, after.live_bytes);
	CHECK_GE(after.mapped_bytes, after.resident_bytes);
	for (unsigned i = 0; i < 1000; i++)
		ebbi_fast_free(blocks[i]);
	after = take();
	CHECK_EQ(after.live_bytes, before.live_bytes);
	CHECK_EQ(class_of(&after, 112)->live_slots, 0u);
	(void)ebbi_heap_purge();
	after = take();
	CHECK_EQ(class_of(&after, 112)->slabs, 0u);
	CHECK_EQ(after.held_cache_bytes + after.held_hole_bytes + after.held_run_bytes, 0u);
}

TEST(live_large)
{
	struct ebb_snapshot before = take();
	struct ebb_snapshot after;
	char *run = ebbi_fast_alloc(100 * KIB);
	char *mapping = ebbi_fast_alloc(8 * MIB);

	memset(run, 1, 100 * KIB);
	memset(mapping, 1, 8 * MIB);
	after = take();
	CHECK_EQ(after.live_large_bytes - before.live_large_bytes, 100 * KIB + 8 * MIB);
	CHECK_EQ(after.live_bytes - before.live_bytes, 100 * KIB + 8 * MIB);
	CHECK_GT(after.mmap_calls, before.mmap_calls);
	ebbi_fast_free(run);
	ebbi_fast_free(mapping);
	after = take();
	CHECK_EQ(after.live_bytes, before.live_bytes);
	CHECK_EQ(after.held_run_bytes - before.held_run_bytes, 100 * KIB + 8 * MIB);
	(void)ebbi_heap_purge();
	after = take();
	CHECK_EQ(after.held_run_bytes, 0u);
	CHECK_GE(after.purged_bytes - before.purged_bytes, 100 * KIB + 8 * MIB);
	CHECK_GE(after.purge_calls - before.purge_calls, 2u);
}

TEST(holes)
{
	static char *blocks[256];
	struct ebb_snapshot before = take();
	struct ebb_snapshot after;

	for (unsigned i = 0; i < 256; i++) {
		blocks[i] = ebbi_fast_alloc(256);
		memset(blocks[i], 1, 256);
	}
	/* All but every 32nd: of two pages one keeps nothing. */
	for (unsigned i = 0; i < 256; i++)
		if (i % 32 != 0)
			ebbi_fast_free(blocks[i]);
	(void)ebbi_heap_purge();
	after = take();
	CHECK_EQ(class_of(&after, 256)->live_slots, 8u);
	CHECK_EQ(after.held_hole_bytes, 0u);
	CHECK_EQ(after.purged_bytes - before.purged_bytes, 8 * 4 * KIB);
	CHECK_EQ(after.held_slack_bytes, 8u * (4096 - 256));
	for (unsigned i = 0; i < 256; i += 32)
		ebbi_fast_free(blocks[i]);
	(void)ebbi_heap_purge();
}

TEST(shared_copy)
{
	uint32_t sequence = ebb_shared_snapshot.sequence;
	struct ebb_snapshot now;

	CHECK_EQ(ebb_shared_snapshot.magic, EBB_SHARED_MAGIC);
	ebbi_snapshot_publish();
	CHECK_EQ(ebb_shared_snapshot.sequence, sequence + 2);
	now = take();
	CHECK_MEM_EQ(&now, &ebb_shared_snapshot.snapshot, offsetof(struct ebb_snapshot, accounts));
	/* Held: nobody writes it; and a fork that came in the middle of a write is set right. */
	CHECK(ebbi_snapshot_hold() == &ebb_shared_snapshot.snapshot);
	CHECK_EQ(ebb_shared_snapshot.sequence, sequence + 4);
	ebbi_snapshot_publish();
	CHECK_EQ(ebb_shared_snapshot.sequence, sequence + 4);
	ebbi_snapshot_release();
	ebb_shared_snapshot.sequence++;
	ebbi_snapshot_forget();
	ebbi_snapshot_publish();
	CHECK_EQ(ebb_shared_snapshot.sequence, sequence + 6);
	ebbi_snapshot_hold();
	ebbi_snapshot_release();
	CHECK_EQ(ebb_shared_snapshot.sequence, sequence + 8);
}

static void print(void *argument)
{
	(void)argument;
	for (unsigned i = 0; i < 100; i++)
		(void)ebbi_fast_alloc(64);
	ebbi_snapshot_print(&(struct ebb_snapshot){
		.live_bytes = 3 << 20,
		.purge_calls = 12345,
		.features_off = EBB_OFF_SCAVENGER | EBB_OFF_PURGE,
		.classes = {{.size_bytes = 16},
			    {.size_bytes = 32, .slabs = 1, .live_slots = 2, .cached_slots = 3, .free_slots = 4}},
	});
}

TEST(text)
{
	static char text[16384];

	CHECK_EQ(child_run(print, NULL, text, sizeof(text)), 0);
	CHECK(strstr(text, "ebb: statistics (ebb " EBB_VERSION ")\n") == text);
	CHECK(strstr(text, " 3145728 = 3.00 MiB  ") != NULL);
	CHECK(strstr(text, " 12345  ") != NULL);
	CHECK(strstr(text, "  features_off        0x6 ") != NULL);
	CHECK(strstr(text, "\n          32          1          2          3          4\n") != NULL);
	CHECK(strstr(text, "\n          16 ") == NULL);
	/* One line for each figure. */
#define EBB_STAT(name, unit, help) CHECK(strstr(text, "  " #name " ") != NULL);
#include <ebb/stats.def>
#undef EBB_STAT
}

int main(void)
{
	CHECK_EQ(setenv("EBB_CONF", "scavenger:0,delay:86400s", 1), 0);
	RUN(head);
	RUN(live_small);
	RUN(live_large);
	RUN(holes);
	RUN(shared_copy);
	RUN(text);
	return check_report();
}
