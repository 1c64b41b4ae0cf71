/*
 * ebb.h: Ebb's API beyond malloc.
 *
 * Owns: the names a program may use when it knows that it runs on libebb. Everything else is
 * reached through the ordinary malloc family and C++ operators, which libebb also defines.
 *
 * Threading: every function here may be called from any thread at any time after the library
 * was loaded. None is async-signal-safe unless its comment says so.
 *
 * Errors: functions that return int return 0 on success and -1 with errno set otherwise.
 */
#ifndef EBB_EBB_H
#define EBB_EBB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBB_VERSION "0.1.0"

/* --- Snapshot ---------------------------------------------------------------------------- */

/*
 * The layout. It changes within a version only by what is appended to stats.def and by the lengths of the three lists, all of
 * which the head of the struct says; anything else makes another version.
 */
#define EBB_SNAPSHOT_VERSION 2u
#define EBB_SNAPSHOT_CLASSES 64u
#define EBB_SNAPSHOT_ACCOUNTS 32u
#define EBB_SNAPSHOT_OWNERS 64u

/* What the kernel refused or the owner switched off; bits of ebb_snapshot.features_off. */
#define EBB_OFF_MEMBARRIER 0x1u /* sleeping threads' caches are emptied by their owners only */
#define EBB_OFF_SCAVENGER 0x2u  /* no thread could be started: memory goes back on allocation ticks */
#define EBB_OFF_PURGE 0x4u      /* madvise was refused: memory stays resident */
#define EBB_OFF_ATFORK 0x8u     /* no fork handler could be registered */

/* One size class. */
struct ebb_class {
	uint64_t size_bytes;   /* slot size; 0 ends the list */
	uint64_t slabs;        /* slabs cut into such slots */
	uint64_t live_slots;   /* handed to the program */
	uint64_t cached_slots; /* in threads' caches */
	uint64_t free_slots;   /* free in the slabs, resident or not */
};

/* An account that the program opened. The limits are 0 when there are none. */
struct ebb_account {
	char name[32];       /* empty: ends the list */
	uint64_t live_bytes; /* allocated and not freed */
	uint64_t
		peak_bytes; /* the most so far, with the free slots that threads kept at hand: at most 64 a class and thread */
	uint64_t limit_bytes;      /* 0: none */
	uint64_t soft_limit_bytes; /* 0: none */
	uint64_t refusals;         /* allocations that returned NULL at limit_bytes */
};

/* Who allocated what is live: the program or a library, by samples. */
struct ebb_owner {
	char name[48];        /* empty: ends the list */
	uint64_t live_bytes;  /* an estimate */
	uint64_t error_bytes; /* its standard error */
	uint64_t samples;     /* live samples that it stands on */
};

/*
 * All figures at one moment. Bytes unless stats.def says otherwise. A reader built against another header finds its way by
 * the six numbers at the head: `stats` figures of eight bytes follow them, then classes_room classes, accounts_room accounts,
 * owners_room owners. It reads the first of the figures, as many as both know.
 */
struct ebb_snapshot {
	uint32_t size_bytes;
	uint32_t version;
	uint32_t stats;
	uint32_t classes_room;
	uint32_t accounts_room;
	uint32_t owners_room;
#define EBB_STAT(name, unit, help) uint64_t name;
#include <ebb/stats.def>
#undef EBB_STAT
	struct ebb_class classes[EBB_SNAPSHOT_CLASSES];
	struct ebb_account accounts[EBB_SNAPSHOT_ACCOUNTS];
	struct ebb_owner owners[EBB_SNAPSHOT_OWNERS]; /* the largest first; the last may be named "others" */
};

/* How many figures stats.def has. */
enum {
#define EBB_STAT(name, unit, help) EBB_STAT_INDEX_##name,
#include <ebb/stats.def>
#undef EBB_STAT
	EBB_SNAPSHOT_STATS
};

/*
 * Fill *ret_snapshot with the figures of this process. `size_bytes` is what the caller has room for: of a
 * shorter one the beginning is filled (figures without the lists, say: offsetof(struct ebb_snapshot, classes)).
 * The struct takes some 10 KiB: not for a small stack. Takes the allocator's locks one after another, so that figures of
 * different size classes may be some microseconds apart; costs about 10 us plus 1 us per thread.
 * Errors: EINVAL when size_bytes is smaller than the two leading words or ret_snapshot is NULL.
 */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* the function is named as the struct, as stat(2) is */
#endif
int ebb_snapshot(struct ebb_snapshot *ret_snapshot, size_t size_bytes);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/*
 * The same figures for readers outside the process: the library's dynamic symbol
 * `ebb_shared_snapshot`, to be read with process_vm_readv(2). The scavenger refreshes it whenever
 * it has looked for memory to give back and just before it goes to sleep; ebb_snapshot() and
 * malloc_trim() refresh it too. `sequence` is odd while a write is under way (some 10 us): a reader takes it
 * before and after, and retries when it is odd or has changed.
 * A program that runs on the library calls ebb_snapshot() instead: the symbol is protected, and only
 * code compiled with -fPIC can be linked against it.
 */
#define EBB_SHARED_MAGIC 0x45424273u /* "EBBs" */
struct ebb_shared {
	uint32_t magic;
	uint32_t sequence;
	struct ebb_snapshot snapshot;
};
extern struct ebb_shared ebb_shared_snapshot;

/* --- Giving memory back ------------------------------------------------------------------ */

/*
 * Give back everything that can be given back now: empties the caches of all threads that are not
 * inside the allocator, then returns every page that holds no live byte. Synchronous; costs about
 * 1 ms per 100 MiB given back. Returns the bytes given back. Never fails. malloc_trim(3) is the
 * same call by its older name.
 */
size_t ebb_purge(void);

/* --- Budget ------------------------------------------------------------------------------ */

/*
 * A line for the resident memory of the whole process, in bytes; 0 removes it. EBB_CONF=budget:256M does the same from
 * outside. The heap's memory counts from the moment it is handed out, touched or not, so that a promise is not broken by the
 * touch; everything else (binary, libraries, stacks, other mappings) counts when it is resident and is measured again when the
 * heap grew by 1 MiB or 10 ms have passed while it grew. At the line the allocator gives back all that is
 * free, asks the callbacks, and then returns NULL with ENOMEM; one line a second at most says so on stderr.
 * A line below what the process has already is accepted: nothing is taken away, but nothing more is given. What the kernel
 * holds for the process (page tables, sockets, page cache) is not resident memory and not counted.
 * Errors: EINVAL for a line below one page.
 */
int ebb_budget_set(size_t bytes);

/* The line in bytes, 0 without one. Async-signal-safe. */
size_t ebb_budget_get(void);

/*
 * How near the process is to its line: 0 to 1000, where 1000 is at the line; 0 without a budget. From 800 on the
 * allocator keeps less and less of what was freed. One load; as fresh as the last measurement: during growth 10 ms or 1 MiB, otherwise the
 * scavenger's last look. Async-signal-safe.
 */
unsigned ebb_pressure(void);

/*
 * Have `callback` called when the pressure comes to `level` (1 to 1000) from below, and each time before an allocation is
 * refused (then with 1000; at most every 10 ms while it frees nothing). It runs within malloc, realloc and the like of
 * whichever thread got there, outside of the allocator: it may free and allocate, and what it allocates may be refused without
 * asking again. It must return (no longjmp, no exception), and must not wait for a lock that some thread holds while it allocates. One
 * at a time; at most 16 callbacks and descriptors together.
 * Errors: EINVAL for a level out of range or no callback, ENOSPC.
 */
typedef void ebb_pressure_callback(unsigned pressure);
int ebb_on_pressure(ebb_pressure_callback *callback, unsigned level);

/* No longer; it may still be running in another thread. Errors: ENOENT when it is not registered. */
int ebb_off_pressure(ebb_pressure_callback *callback);

/*
 * An eventfd(2) (non-blocking, close-on-exec) that becomes readable when the pressure comes to `level` from below: for event
 * loops. Read its eight bytes to arm it again; close it when it is no longer wanted, which the allocator notices.
 * Errors: EINVAL, ENOSPC, and eventfd's.
 */
int ebb_pressure_fd(unsigned level);

/* --- Accounts ---------------------------------------------------------------------------- */

/*
 * An account is a named part of the program: whoever allocates while a thread is in it is counted there, until the block is
 * freed, wherever that happens. Accounts have slabs of their own: one costs some 16 KiB, a page for each size class in use, and a page
 * for each thread that uses it. A program without accounts pays nothing.
 *
 * Counted are whole blocks, as malloc_usable_size() says. What counts in no account: blocks made outside of
 * all accounts, and by signal handlers that interrupted the allocator. realloc() leaves a block in its account.
 */

/*
 * A new account, `name` being 1 to 31 printable ASCII characters. `limit_bytes`: allocations that would take it beyond
 * fail with ENOMEM; 0 for no limit. Free slots that threads keep at hand are emptied before one fails. Returns its number, 1 to
 * 32. There is no way to take an account away. Errors: EINVAL for the name, EEXIST, ENOSPC after 32, ENOMEM, ENOTSUP with
 * EBB_CONF=hardened, EAGAIN in a signal handler that interrupted the allocator.
 */
int ebb_account_create(const char *name, size_t limit_bytes);

/*
 * New limits; 0 for none. The hard one as above; when the account passes the soft one a line on stderr says so, at most one a
 * second. A limit below what the account has already takes nothing away; free slots that threads at work have at hand may still be
 * served. A large block may be up to a quarter longer
 * than asked for, and the account as much above its limit. Errors: EINVAL for an account that does not exist.
 */
int ebb_account_limit(int account, size_t soft_bytes, size_t limit_bytes);

/*
 * The calling thread is in `account` from now on; 0: in none. Returns the one that it was in before, 0 or more, which is to be
 * handed to the next call when the scope ends:
 *
 *     int before = ebb_account_enter(account);
 *     ...
 *     ebb_account_enter(before);
 *
 * Threads start in none. A signal handler that enters one must leave it before it returns; it may
 * find the thread in the account of a call that it interrupted. Costs some 10 ns, the first time in a
 * thread some microseconds. Errors: -1 with EINVAL, ENOMEM, or EAGAIN in a handler that interrupted the allocator.
 */
int ebb_account_enter(int account);

/* malloc(3) in `account`, wherever the thread is. Errors: NULL with ENOMEM, or EINVAL for an account that does not exist. */
void *ebb_account_malloc(int account, size_t bytes);

/*
 * Fill *ret_account. `size_bytes` is sizeof(struct ebb_account) as the caller knows it. Exact when no thread is in the midst of
 * an allocation; costs about 1 us plus 0.1 us a thread. Errors: EINVAL for an account that does not exist, a NULL, or a size
 * smaller than the name.
 */
int ebb_account_figures(int account, struct ebb_account *ret_account, size_t size_bytes);

/* Library version, a string such as "0.1.0"; static storage. Async-signal-safe. */
const char *ebb_version(void);

#ifdef __cplusplus
}
#endif

#endif
