/*
 * account.h: explicit accounts: in whose name a thread allocates.
 *
 * Owns: the accounts, each a name, a counted set of bins (slabs/store.h) and two limits; which account a thread is in.
 *
 * How. A thread in an account takes its slots from another shelf, of slabs that belong to the account alone; its
 * large blocks are marked in the page map. So malloc does nothing that it does not do anyway, and free, wherever it happens,
 * finds the account in the page map's entry that it reads anyway. What an account has live is what left its bins less
 * what lies on shelves.
 *
 * Never: takes an account away again; moves a block from one account to another, in realloc either.
 * Threading: any thread; from a handler that interrupted the allocator only accounts that the thread was in before.
 * Errors: negative errno.
 */
#ifndef EBBI_HEAP_ACCOUNT_H
#define EBBI_HEAP_ACCOUNT_H

#include "heap/heap.h"

#define EBBI_ACCOUNTS_MOST 32u
#define EBBI_ACCOUNT_NAME_BYTES 32u

struct ebbi_account_figures {
	const char *name;
	size_t live_bytes;
	size_t peak_bytes;  /* of what left the bins: shelves included */
	size_t limit_bytes; /* 0: none */
	size_t soft_bytes;  /* 0: none */
	uint64_t refusals;
};

/* The number of the account, from 1 on. -EINVAL for a name that is empty, too long or unprintable; -EEXIST; -ENOSPC; -ENOMEM;
 * -ENOTSUP in a hardened heap, whose slots lie elsewhere. */
int ebbi_account_create(const char *name, size_t limit_bytes);

/* 0: none. -EINVAL for an account that is not there. */
int ebbi_account_limit(int account, size_t soft_bytes, size_t limit_bytes);

/* The thread is in `account` from now on, 0 being none. Returns the one that it was in. -EINVAL, -ENOMEM, -EAGAIN. */
int ebbi_account_enter(int account);

/* As malloc in the account of a block, which this entry of its first page says; that of a nested block says none. */
void *ebbi_account_alloc(uint64_t entry, size_t bytes);

int ebbi_account_figures(int account, struct ebbi_account_figures *ret_figures);

/* The stand for the slots of a counted entry, made where there is none, by a thread inside `cache`. NULL without memory. */
struct ebbi_stand *ebbi_account_stand(struct ebbi_cache *cache, uint64_t entry);

/* `bytes` more would be over the limit of the set. */
static inline bool ebbi_account_is_full(const struct ebbi_set *set, size_t bytes)
{
	return EBBI_UNLIKELY(ebbi_set_is_counted(set)) &&
	       ebbi_load_relaxed(&set->taken_bytes) + bytes > ebbi_load_relaxed(&set->limit_bytes);
}

/* So it is: empty shelves, by a thread inside `own`. False: there is not enough on them. */
bool ebbi_account_make_room(struct ebbi_cache *own, struct ebbi_set *set, size_t bytes);

/* Such a request is refused: count it and say so. By a thread outside of its cache. */
void ebbi_account_refuse(const struct ebbi_set *set, size_t bytes);

/* The set may have come to its soft limit: say so. By a thread outside of its cache. */
void ebbi_account_settle_slow(const struct ebbi_set *set);
static inline void ebbi_account_settle(const struct ebbi_set *set)
{
	if (EBBI_UNLIKELY(ebbi_set_is_counted(set)))
		ebbi_account_settle_slow(set);
}

#endif
