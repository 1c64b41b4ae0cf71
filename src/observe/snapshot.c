#include "observe/snapshot.h"

#include <errno.h>
#include <time.h>

#include "observe/shared.h"

#define SYMBOL "ebb_shared_snapshot"
/* A write takes microseconds; 50 tries of 200 us outlast any writer that was scheduled away. */
#define READ_TRIES 50
#define RETRY_NS 200000

int ebbi_snapshot_find(pid_t pid, const char *library, uint64_t *ret_address)
{
	return ebbi_shared_find(pid, library, SYMBOL, ret_address);
}

/* One attempt; -EAGAIN when a write was under way or came between. */
static int read_once(pid_t pid, uint64_t address, struct ebb_shared *shared)
{
	uint32_t before, after;
	size_t size;
	int error = ebbi_shared_read(pid, address, shared, offsetof(struct ebb_shared, snapshot) + 8);

	if (error != 0)
		return error;
	if (shared->magic == EBB_SHARED_MAGIC && shared->sequence == 0)
		return -ENODATA;
	if (shared->magic != EBB_SHARED_MAGIC || shared->snapshot.version != EBB_SNAPSHOT_VERSION)
		return -EPROTO;
	before = shared->sequence;
	size = shared->snapshot.size_bytes;
	if ((before & 1) != 0)
		return -EAGAIN;
	if (size < 16 || size > (1u << 20))
		return -EPROTO;
	if (size > sizeof(shared->snapshot))
		size = sizeof(shared->snapshot);
	error = ebbi_shared_read(pid, address, shared, offsetof(struct ebb_shared, snapshot) + size);
	if (error == 0)
		error = ebbi_shared_read(pid, address + offsetof(struct ebb_shared, sequence), &after, sizeof(after));
	if (error != 0)
		return error;
	return shared->sequence == before && after == before ? 0 : -EAGAIN;
}

int ebbi_snapshot_read(pid_t pid, uint64_t address, struct ebb_snapshot *ret_snapshot)
{
	struct ebb_shared shared = {0};
	struct timespec pause = {.tv_nsec = RETRY_NS};
	int error = -EAGAIN;

	for (int i = 0; i < READ_TRIES && error == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		error = read_once(pid, address, &shared);
	}
	if (error == 0)
		*ret_snapshot = shared.snapshot;
	return error;
}

uint64_t ebbi_snapshot_held(const struct ebb_snapshot *snapshot)
{
	return snapshot->held_cache_bytes + snapshot->held_hole_bytes + snapshot->held_slack_bytes +
	       snapshot->held_run_bytes;
}
