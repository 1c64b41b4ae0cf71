#include "observe/snapshot.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "observe/shared.h"

#define SYMBOL "ebb_shared_snapshot"
/* A write takes microseconds; 50 tries of 200 us outlast any writer that was scheduled away. */
#define READ_TRIES 50
#define RETRY_NS 200000
#define HEAD_BYTES offsetof(struct ebb_snapshot, live_bytes)
/* A library with longer lists than ours is read, too. */
#define MOST_BYTES (4 * sizeof(struct ebb_snapshot))

int ebbi_snapshot_find(pid_t pid, const char *library, uint64_t *ret_address)
{
	return ebbi_shared_find(pid, library, SYMBOL, ret_address);
}

/* --- Layouts ----------------------------------------------------------------------------- */

/* Where the parts lie in a snapshot whose head is `head`; false when the head makes no sense. */
struct layout {
	size_t classes;
	size_t accounts;
	size_t owners;
	size_t end;
};

static bool lay_out(const struct ebb_snapshot *head, struct layout *layout)
{
	/* No library has thousands of anything. */
	if (head->stats > 4096 || head->classes_room > 4096 || head->accounts_room > 4096 || head->owners_room > 4096)
		return false;
	layout->classes = HEAD_BYTES + head->stats * sizeof(uint64_t);
	layout->accounts = layout->classes + head->classes_room * sizeof(struct ebb_class);
	layout->owners = layout->accounts + head->accounts_room * sizeof(struct ebb_account);
	layout->end = layout->owners + head->owners_room * sizeof(struct ebb_owner);
	return layout->end == head->size_bytes;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Names come from another process: each ends within its room. */
static void end_names(struct ebb_snapshot *snapshot)
{
	for (size_t i = 0; i < EBB_SNAPSHOT_ACCOUNTS; i++)
		snapshot->accounts[i].name[sizeof(snapshot->accounts[i].name) - 1] = 0;
	for (size_t i = 0; i < EBB_SNAPSHOT_OWNERS; i++)
		snapshot->owners[i].name[sizeof(snapshot->owners[i].name) - 1] = 0;
}

int ebbi_snapshot_parse(const void *bytes, size_t length, struct ebb_snapshot *ret_snapshot)
{
	const char *from = bytes;
	struct ebb_snapshot head = {0};
	struct layout layout;

	if (length < HEAD_BYTES)
		return -EPROTO;
	memcpy(&head, from, HEAD_BYTES);
	if (head.version != EBB_SNAPSHOT_VERSION || !lay_out(&head, &layout) || layout.end > length)
		return -EPROTO;
	memset(ret_snapshot, 0, sizeof(*ret_snapshot));
	memcpy((char *)ret_snapshot + HEAD_BYTES, from + HEAD_BYTES,
	       least(head.stats, EBB_SNAPSHOT_STATS) * sizeof(uint64_t));
	memcpy(ret_snapshot->classes, from + layout.classes,
	       least(head.classes_room, EBB_SNAPSHOT_CLASSES) * sizeof(struct ebb_class));
	memcpy(ret_snapshot->accounts, from + layout.accounts,
	       least(head.accounts_room, EBB_SNAPSHOT_ACCOUNTS) * sizeof(struct ebb_account));
	memcpy(ret_snapshot->owners, from + layout.owners,
	       least(head.owners_room, EBB_SNAPSHOT_OWNERS) * sizeof(struct ebb_owner));
	end_names(ret_snapshot);
	ret_snapshot->size_bytes = sizeof(*ret_snapshot);
	ret_snapshot->version = EBB_SNAPSHOT_VERSION;
	ret_snapshot->stats = EBB_SNAPSHOT_STATS;
	ret_snapshot->classes_room = EBB_SNAPSHOT_CLASSES;
	ret_snapshot->accounts_room = EBB_SNAPSHOT_ACCOUNTS;
	ret_snapshot->owners_room = EBB_SNAPSHOT_OWNERS;
	return 0;
}

/* --- Reading ----------------------------------------------------------------------------- */

/* What is at the beginning of struct ebb_shared, whatever its version. */
struct shared_head {
	uint32_t magic;
	uint32_t sequence;
	struct {
		uint32_t size_bytes;
		uint32_t version;
	} snapshot;
};

uint32_t ebbi_snapshot_version(pid_t pid, uint64_t address)
{
	struct shared_head head;

	if (ebbi_shared_read(pid, address, &head, sizeof(head)) != 0 || head.magic != EBB_SHARED_MAGIC)
		return 0;
	return head.snapshot.version;
}

/* One attempt, into *bytes of `size`; -EAGAIN when a write was under way or came between. */
static int read_once(pid_t pid, uint64_t address, char *bytes, size_t size, struct ebb_snapshot *ret_snapshot)
{
	struct shared_head head, after;
	int error = ebbi_shared_read(pid, address, &head, sizeof(head));

	if (error != 0)
		return error;
	if (head.magic == EBB_SHARED_MAGIC && head.sequence == 0)
		return -ENODATA;
	if (head.magic != EBB_SHARED_MAGIC)
		return -EPROTO;
	if ((head.sequence & 1) != 0)
		return -EAGAIN;
	if (head.snapshot.version != EBB_SNAPSHOT_VERSION || head.snapshot.size_bytes > size)
		return -EPROTO;
	error = ebbi_shared_read(pid, address + offsetof(struct ebb_shared, snapshot), bytes, head.snapshot.size_bytes);
	if (error == 0)
		error = ebbi_shared_read(pid, address, &after, sizeof(after));
	if (error != 0)
		return error;
	if (after.sequence != head.sequence)
		return -EAGAIN;
	return ebbi_snapshot_parse(bytes, head.snapshot.size_bytes, ret_snapshot);
}

int ebbi_snapshot_read(pid_t pid, uint64_t address, struct ebb_snapshot *ret_snapshot)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};
	char bytes[MOST_BYTES];
	int error = -EAGAIN;

	for (int i = 0; i < READ_TRIES && error == -EAGAIN; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		error = read_once(pid, address, bytes, sizeof(bytes), ret_snapshot);
	}
	return error;
}

uint64_t ebbi_snapshot_held(const struct ebb_snapshot *snapshot)
{
	return snapshot->held_cache_bytes + snapshot->held_hole_bytes + snapshot->held_slack_bytes +
	       snapshot->held_run_bytes;
}
