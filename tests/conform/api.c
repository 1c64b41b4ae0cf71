/* The names of ebb.h, as a program uses them that was linked with the library. */
#include "check.h"

#include <ebb/ebb.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define BLOCKS 4000
#define BLOCK_BYTES ((size_t)1000)

static void *block[BLOCKS];

static void allocate_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		block[i] = hide(malloc(BLOCK_BYTES));
		memset(block[i], 1, BLOCK_BYTES);
	}
}

static void free_all(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		free(block[i]);
}

static struct ebb_snapshot take(void)
{
	struct ebb_snapshot snapshot;

	memset(&snapshot, 0xee, sizeof(snapshot));
	CHECK(ebb_snapshot(&snapshot, sizeof(snapshot)) == 0, "ebb_snapshot");
	CHECK(snapshot.size_bytes == sizeof(snapshot), "size %u", snapshot.size_bytes);
	CHECK(snapshot.version == EBB_SNAPSHOT_VERSION, "version %u", snapshot.version);
	return snapshot;
}

/* What must hold at any time between the figures. */
static void check_sums(const struct ebb_snapshot *snapshot)
{
	uint64_t live = snapshot->live_large_bytes;
	uint64_t last = 0;

	CHECK(snapshot->resident_bytes <= snapshot->mapped_bytes, "resident %lu of mapped %lu",
	      (unsigned long)snapshot->resident_bytes, (unsigned long)snapshot->mapped_bytes);
	CHECK(snapshot->live_bytes <= snapshot->resident_bytes, "live %lu of resident %lu",
	      (unsigned long)snapshot->live_bytes, (unsigned long)snapshot->resident_bytes);
	for (unsigned i = 0; i < EBB_SNAPSHOT_CLASSES && snapshot->classes[i].size_bytes != 0; i++) {
		const struct ebb_class *class = &snapshot->classes[i];

		CHECK(class->size_bytes > last, "classes ascend");
		last = class->size_bytes;
		live += class->size_bytes * class->live_slots;
		CHECK(class->live_slots + class->cached_slots + class->free_slots == 0 || class->slabs > 0,
		      "class %lu has slots and no slab", (unsigned long)class->size_bytes);
	}
	CHECK(live == snapshot->live_bytes, "classes and large blocks make %lu, live_bytes is %lu", (unsigned long)live,
	      (unsigned long)snapshot->live_bytes);
}

static void test_snapshot(void)
{
	struct ebb_snapshot before = take();
	allocate_all();
	struct ebb_snapshot full = take();
	free_all();
	struct ebb_snapshot freed = take();
	size_t purged = ebb_purge();
	struct ebb_snapshot after = take();

	check_sums(&before);
	check_sums(&full);
	check_sums(&freed);
	check_sums(&after);
	CHECK(full.live_bytes >= before.live_bytes + BLOCKS * BLOCK_BYTES, "live %lu, then %lu",
	      (unsigned long)before.live_bytes, (unsigned long)full.live_bytes);
	CHECK(freed.live_bytes < before.live_bytes + 65536, "live %lu, freed %lu", (unsigned long)before.live_bytes,
	      (unsigned long)freed.live_bytes);
	uint64_t held = freed.held_cache_bytes + freed.held_hole_bytes + freed.held_run_bytes + freed.held_slack_bytes;
	CHECK(held >= BLOCKS * BLOCK_BYTES / 2, "held %lu after 4 MB were freed", (unsigned long)held);
	CHECK(purged >= BLOCKS * BLOCK_BYTES / 2, "ebb_purge gave %zu back", purged);
	CHECK(after.purged_bytes - freed.purged_bytes >= purged, "purged_bytes counts it");
	CHECK(after.resident_bytes + purged <= freed.resident_bytes + 65536, "resident %lu, then %lu",
	      (unsigned long)freed.resident_bytes, (unsigned long)after.resident_bytes);
	CHECK(after.threads == 1, "%lu threads have a cache", (unsigned long)after.threads);
}

static void test_snapshot_sizes(void)
{
	struct {
		struct ebb_snapshot snapshot;
		uint8_t guard[64];
	} box;

	errno = 0;
	CHECK(ebb_snapshot(NULL, sizeof(box.snapshot)) == -1 && errno == EINVAL, "NULL");
	errno = 0;
	CHECK(ebb_snapshot(&box.snapshot, 4) == -1 && errno == EINVAL, "4 bytes");
	for (size_t size = 8; size <= sizeof(box); size += 8) {
		memset(&box, 0x77, sizeof(box));
		CHECK(ebb_snapshot(&box.snapshot, size) == 0, "%zu bytes", size);
		const uint8_t *bytes = (const uint8_t *)&box;
		for (size_t at = size; at < sizeof(box); at++)
			CHECK(bytes[at] == 0x77, "byte %zu was written, %zu were offered", at, size);
	}
}

/* As a reader from outside does: the child reads its parent. */
static void test_shared(void)
{
	struct ebb_shared shared;
	struct iovec local = {&shared, sizeof(shared)};
	/* By dlsym: a direct reference would make the program's own copy of it. */
	struct iovec remote = {dlsym(RTLD_DEFAULT, "ebb_shared_snapshot"), sizeof(shared)};
	int status;

	CHECK(remote.iov_base != NULL, "ebb_shared_snapshot is exported");
	allocate_all();
	struct ebb_snapshot now = take();
	pid_t parent = getpid();
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		CHECK(process_vm_readv(parent, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(shared),
		      "process_vm_readv");
		CHECK(shared.magic == EBB_SHARED_MAGIC && shared.sequence % 2 == 0, "magic and sequence");
		CHECK(shared.snapshot.version == EBB_SNAPSHOT_VERSION, "version");
		CHECK(shared.snapshot.live_bytes + (1 << 20) > now.live_bytes, "live %lu, shared %lu",
		      (unsigned long)now.live_bytes, (unsigned long)shared.snapshot.live_bytes);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
	free_all();
}

static void *snapshot_storm(void *argument)
{
	for (unsigned i = 0; i < 300; i++) {
		struct ebb_snapshot snapshot = take();

		CHECK(snapshot.resident_bytes <= snapshot.mapped_bytes, "resident %lu of mapped %lu",
		      (unsigned long)snapshot.resident_bytes, (unsigned long)snapshot.mapped_bytes);
		ebb_purge();
	}
	return argument;
}

static void test_concurrent(void)
{
	pthread_t thread = check_thread(snapshot_storm, NULL);

	for (unsigned i = 0; i < 50; i++) {
		allocate_all();
		free_all();
	}
	check_join(thread);
}

int main(void)
{
	check_allocator();
	CHECK(strcmp(ebb_version(), EBB_VERSION) == 0, "version %s", ebb_version());
	test_snapshot();
	test_snapshot_sizes();
	test_shared();
	test_concurrent();
	struct ebb_snapshot last = take();
	check_sums(&last);
	return 0;
}
