#include "heap/account.h"

#include <errno.h>
#include <string.h>

#include "heap/fast.h"
#include "heap/inside.h"
#include "platform/clock.h"

#define SAY_EVERY_NS UINT64_C(1000000000)

struct account {
	char name[EBBI_ACCOUNT_NAME_BYTES]; /* set at birth */
	size_t soft_bytes;                  /* relaxed; SIZE_MAX: none */
	uint64_t refusals;                  /* relaxed */
	uint64_t said_ns;                   /* relaxed: when a line about a refusal went to stderr last */
	uint64_t warned_ns;                 /* relaxed: when one about the soft limit did */
	uint32_t is_over;                   /* relaxed: 1 since the soft limit was passed, until it is kept again */
};

static struct account accounts[EBBI_ACCOUNTS_MOST];
static uint32_t count; /* guarded by the registry's lock; release when one is added, acquire when read without it */

_Static_assert(EBBI_SET_ACCOUNTS + EBBI_ACCOUNTS_MOST <= EBBI_SETS, "a set for each account");

/* The account whose set has this number; 0 for those that belong to none. */
static int account_of_set(unsigned number)
{
	return number < EBBI_SET_ACCOUNTS ? 0 : (int)(number - EBBI_SET_ACCOUNTS) + 1;
}

static int number_of(const struct ebbi_set *set)
{
	return account_of_set(set->number);
}

/* NULL: no such account. Of 0, none, the first set. */
static struct ebbi_set *set_of(int account)
{
	if (account == 0)
		return &ebbi_heap.store.home;
	if (account < 0 || (uint32_t)account > ebbi_load_acquire(&count)) /* partner: add_locked */
		return NULL;
	return ebbi_load_relaxed(&ebbi_heap.store.sets[EBBI_SET_ACCOUNTS + (unsigned)account - 1]);
}

static bool is_name(const char *name)
{
	size_t length = 0;

	if (name == NULL)
		return false;
	for (; name[length] != '\0'; length++)
		if (length + 1 == EBBI_ACCOUNT_NAME_BYTES || name[length] < ' ' || name[length] > '~')
			return false;
	return length > 0;
}

/* The registry's lock keeps other makers out, and a fork. */
static int add_locked(struct ebbi_set *set, const char *name, size_t limit_bytes)
{
	struct account *account = &accounts[count];

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(accounts[i].name, name) == 0)
			return -EEXIST;
	if (count == EBBI_ACCOUNTS_MOST)
		return -ENOSPC;
	memcpy(account->name, name, strlen(name));
	account->soft_bytes = SIZE_MAX;
	set->limit_bytes = limit_bytes != 0 ? limit_bytes : SIZE_MAX;
	ebbi_store_add(&ebbi_heap.store, set, EBBI_SET_ACCOUNTS + count);
	ebbi_store_release(&count, count + 1);
	return (int)count;
}

/* A set that found no account serves the next one: metadata is never unmapped. */
static struct ebbi_set *spare; /* guarded by the registry's lock */

static int create_inside(const char *name, size_t limit_bytes)
{
	struct ebbi_lock *lock = &ebbi_heap.registry.lock;
	struct ebbi_set *set;
	int number;

	ebbi_lock_acquire(lock);
	set = spare;
	spare = NULL;
	ebbi_lock_release(lock);
	if (set == NULL)
		set = ebbi_set_create(&ebbi_heap.store);
	if (set == NULL)
		return -ENOMEM;
	ebbi_lock_acquire(lock);
	number = add_locked(set, name, limit_bytes);
	if (number < 0)
		spare = set;
	ebbi_lock_release(lock);
	return number;
}

int ebbi_account_create(const char *name, size_t limit_bytes)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	int number;

	if (!is_name(name))
		return -EINVAL;
	if (ebbi_heap.config.hardened)
		return -ENOTSUP;
	if (cache == NULL)
		return -ENOMEM;
	if (ebbi_heap_enter(cache) == EBBI_NESTED)
		return -EAGAIN;
	number = create_inside(name, limit_bytes);
	ebbi_handshake_leave(&cache->handshake);
	return number;
}

/* Nothing more of what lies there: the account is over its new limit. */
static void empty_shelves(void)
{
	struct ebbi_cache *own = ebbi_thread_cache();

	if (own == NULL || ebbi_heap_enter(own) == EBBI_NESTED)
		return;
	(void)ebbi_cache_drain(&ebbi_heap.registry.pool, own);
	(void)ebbi_registry_sweep(&ebbi_heap.registry, EBBI_SWEEP_ALL, own);
	ebbi_handshake_leave(&own->handshake);
}

int ebbi_account_limit(int account, size_t soft_bytes, size_t limit_bytes)
{
	struct ebbi_set *set = set_of(account);

	if (account == 0 || set == NULL)
		return -EINVAL;
	ebbi_store_relaxed(&set->limit_bytes, limit_bytes != 0 ? limit_bytes : SIZE_MAX);
	if (ebbi_account_is_full(set, 0))
		empty_shelves();
	ebbi_store_relaxed(&accounts[account - 1].soft_bytes, soft_bytes != 0 ? soft_bytes : SIZE_MAX);
	return 0;
}

/* For a set in which the thread, or its cache, was not yet. */
static int add_stand(struct ebbi_cache *cache, struct ebbi_set *set, struct ebbi_stand **ret_stand)
{
	struct ebbi_stand *stand;

	if (ebbi_heap_enter(cache) == EBBI_NESTED)
		return -EAGAIN;
	stand = ebbi_cache_add_stand(&ebbi_heap.registry.pool, cache, set);
	ebbi_handshake_leave(&cache->handshake);
	if (stand == NULL)
		return -ENOMEM;
	*ret_stand = stand;
	return 0;
}

/*
 * In this order: a handler in between that enters accounts and leaves them comes back to the new one, as the thread does. One
 * that only allocates is counted in the old one or the new one.
 */
static void stand_at(struct ebbi_thread *self, struct ebbi_stand *stand)
{
	ebbi_store_relaxed(&self->stand, stand);
	ebbi_compiler_barrier();
	ebbi_store_relaxed(&self->shelf, stand->shelf);
}

int ebbi_account_enter(int account)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	struct ebbi_thread *self = &ebbi_thread_self;
	struct ebbi_set *set = set_of(account);
	struct ebbi_stand *stand;
	int before;
	int error;

	if (set == NULL)
		return -EINVAL;
	if (cache == NULL)
		return account == 0 ? 0 : -ENOMEM;
	before = number_of(self->stand->set);
	stand = ebbi_cache_stand(cache, set);
	error = stand == NULL ? add_stand(cache, set, &stand) : 0;
	if (error != 0)
		return error;
	stand_at(self, stand);
	return before;
}

static unsigned set_of_entry(uint64_t entry)
{
	if ((entry & EBBI_ENTRY_LOW) == 0 || ebbi_entry_is_counted(entry))
		return ebbi_entry_set(entry);
	return ebbi_entry_run_set(entry);
}

void *ebbi_account_alloc(uint64_t entry, size_t bytes)
{
	struct ebbi_thread *self = &ebbi_thread_self;
	/* A sample's set is no account: a block that moves out of it is drawn anew. */
	int account = account_of_set(set_of_entry(entry));
	struct ebbi_stand *before = self->stand;
	void *block;

	if (EBBI_LIKELY(before == NULL || number_of(before->set) == account))
		return ebbi_fast_alloc(bytes);
	if (ebbi_account_enter(account) < 0)
		return NULL;
	block = ebbi_fast_alloc(bytes);
	stand_at(self, before);
	return block;
}

/* Free slots on the shelves of all caches. Racy, as all that looks into others' caches is. */
static size_t shelved_bytes(const struct ebbi_set *set)
{
	struct ebbi_cache *cache = ebbi_load_acquire(&ebbi_heap.registry.all); /* partner: adopt */
	size_t bytes = 0;

	for (; cache != NULL; cache = cache->next) {
		const struct ebbi_stand *stand = ebbi_cache_stand(cache, set);

		bytes += stand != NULL ? ebbi_stand_held_bytes(stand, NULL) : 0;
	}
	return bytes;
}

int ebbi_account_figures(int account, struct ebbi_account_figures *ret_figures)
{
	const struct ebbi_set *set = set_of(account);
	const struct account *at;
	size_t limit;
	size_t soft;

	if (account == 0 || set == NULL)
		return -EINVAL;
	at = &accounts[account - 1];
	limit = ebbi_load_relaxed(&set->limit_bytes);
	soft = ebbi_load_relaxed(&at->soft_bytes);
	*ret_figures = (struct ebbi_account_figures){
		.name = at->name,
		.live_bytes = ebbi_excess(ebbi_load_relaxed(&set->taken_bytes), shelved_bytes(set)),
		.peak_bytes = ebbi_load_relaxed(&set->peak_bytes),
		.limit_bytes = limit == SIZE_MAX ? 0 : limit,
		.soft_bytes = soft == SIZE_MAX ? 0 : soft,
		.refusals = ebbi_load_relaxed(&at->refusals),
	};
	return 0;
}

struct ebbi_stand *ebbi_account_stand(struct ebbi_cache *cache, uint64_t entry)
{
	struct ebbi_set *set = ebbi_store_bin(&ebbi_heap.store, entry)->set;
	struct ebbi_stand *stand = ebbi_cache_stand(cache, set);

	return stand != NULL ? stand : ebbi_cache_add_stand(&ebbi_heap.registry.pool, cache, set);
}

bool ebbi_account_make_room(struct ebbi_cache *own, struct ebbi_set *set, size_t bytes)
{
	size_t taken = ebbi_load_relaxed(&set->taken_bytes);
	size_t limit = ebbi_load_relaxed(&set->limit_bytes);

	if (bytes > limit || ebbi_excess(taken, limit - bytes) > shelved_bytes(set))
		return false;
	(void)ebbi_cache_drain(&ebbi_heap.registry.pool, own);
	if (ebbi_account_is_full(set, bytes))
		(void)ebbi_registry_sweep(&ebbi_heap.registry, EBBI_SWEEP_ALL, own);
	return !ebbi_account_is_full(set, bytes);
}

void ebbi_account_refuse(const struct ebbi_set *set, size_t bytes)
{
	struct account *account = &accounts[number_of(set) - 1];

	ebbi_fetch_add_relaxed(&account->refusals, 1u);
	if (ebbi_heap.explain != NULL && ebbi_clock_turn_try(&account->said_ns, SAY_EVERY_NS))
		ebbi_heap.explain(bytes, number_of(set));
}

void ebbi_account_settle_slow(const struct ebbi_set *set)
{
	struct account *account = &accounts[number_of(set) - 1];
	bool is_over = ebbi_load_relaxed(&set->taken_bytes) > ebbi_load_relaxed(&account->soft_bytes);

	if (EBBI_LIKELY(is_over == (ebbi_load_relaxed(&account->is_over) != 0)))
		return;
	ebbi_store_relaxed(&account->is_over, is_over ? 1u : 0u);
	if (is_over && ebbi_heap.explain != NULL && ebbi_clock_turn_try(&account->warned_ns, SAY_EVERY_NS))
		ebbi_heap.explain(0, number_of(set));
}
