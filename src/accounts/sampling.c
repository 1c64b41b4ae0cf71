#include "accounts/sampling.h"

#include <string.h>

#include "accounts/modules.h"
#include "accounts/samples.h"
#include "accounts/stacks.h"
#include "heap/hardened.h"
#include "heap/sampled.h"
#include "platform/clock.h"
#include "policy/sampling.h"

static struct ebbi_sampling_cost cost; /* guarded by the tables' lock */

/* Samples that were freed while their thread was in the tables; freed by a handler, so they are few. */
#define POSTPONED_MOST 16u
static void *postponed[POSTPONED_MOST]; /* release/acquire: NULL where there is none */
static bool any_postponed;              /* relaxed; a hint: one that is missed is seen at the next */

/* How many blocks it stands for: the whole of it, and one more as often as the fraction says. */
static uint64_t objects_for(uint64_t chance, uint64_t random)
{
	uint64_t weight = ebbi_policy_sample_weight(1u << 16, chance);

	return (weight >> 16) + ((random & 0xffff) < (weight & 0xffff));
}

static void weigh(struct ebbi_sample *sample, size_t asked_bytes, size_t bytes, uint64_t interval)
{
	uint64_t chance = ebbi_policy_sample_chance(asked_bytes, interval);

	sample->bytes = ebbi_policy_sample_weight(bytes, chance);
	sample->variance = ebbi_policy_sample_variance(sample->bytes, chance);
	sample->objects = objects_for(chance, ebbi_hash(sample->block ^ ebbi_load_relaxed(&ebbi_tables.samples_taken)));
}

static struct ebbi_owner *owner_of(uint32_t site)
{
	return &ebbi_tables.owners[ebbi_tables.modules_more[ebbi_tables.sites[site].owner].owner];
}

static void credit_locked(const struct ebbi_sample *sample)
{
	struct ebb_profile_site *site = &ebbi_tables.sites[sample->site];
	struct ebbi_owner *owner = owner_of(sample->site);

	ebbi_counter_add(&site->live_bytes, sample->bytes);
	ebbi_counter_add(&site->live_objects, sample->objects);
	ebbi_counter_add(&site->total_bytes, sample->bytes);
	ebbi_counter_add(&site->total_objects, sample->objects);
	ebbi_counter_add(&owner->live_bytes, sample->bytes);
	ebbi_counter_add(&owner->variance, sample->variance);
	ebbi_counter_add(&owner->samples, 1u);
}

static void pay_locked(uint64_t began_ns)
{
	uint64_t now_ns = ebbi_clock_now_quick_ns();

	ebbi_policy_sampling_pay(&cost, now_ns, ebbi_excess(now_ns, began_ns));
	if (cost.doublings != ebbi_load_relaxed(&ebbi_heap.sample_doublings)) {
		ebbi_store_relaxed(&ebbi_heap.sample_doublings, cost.doublings);
		ebbi_store_relaxed(&ebb_shared_profile.interval_bytes, ebbi_heap.config.sample << cost.doublings);
	}
}

static void debit_locked(const void *block)
{
	struct ebb_profile_site *site;
	struct ebbi_owner *owner;
	struct ebbi_sample sample;

	if (!ebbi_sample_remove_locked(block, &sample))
		return;
	site = &ebbi_tables.sites[sample.site];
	owner = owner_of(sample.site);
	ebbi_counter_sub(&site->live_bytes, sample.bytes);
	ebbi_counter_sub(&site->live_objects, sample.objects);
	ebbi_counter_sub(&owner->live_bytes, sample.bytes);
	ebbi_counter_sub(&owner->variance, sample.variance);
	ebbi_counter_sub(&owner->samples, 1u);
}

/* By a handler that interrupted its own thread in the tables or in the heap: for whoever leaves them next. */
static void postpone(void *block)
{
	for (unsigned i = 0; i < POSTPONED_MOST; i++) {
		void *expected = NULL;

		if (ebbi_cas_release(&postponed[i], &expected, block)) {
			ebbi_store_relaxed(&any_postponed, true);
			return;
		}
	}
	ebbi_fetch_add_relaxed(&ebb_shared_profile.samples_dropped, 1);
}

static void leave_tables(void)
{
	if (EBBI_UNLIKELY(ebbi_load_relaxed(&any_postponed))) {
		ebbi_store_relaxed(&any_postponed, false);
		for (unsigned i = 0; i < POSTPONED_MOST; i++)
			debit_locked(ebbi_exchange_acquire(&postponed[i], NULL)); /* partner: postpone */
	}
	ebbi_tables_unlock();
}

static bool take(void *block, size_t asked_bytes, size_t bytes, uint64_t interval)
{
	struct ebbi_sample sample = {.block = (uint64_t)block};
	uint64_t began_ns = ebbi_clock_now_quick_ns();
	struct ebbi_stack stack;
	bool done = false;

	if (ebbi_thread_self.in_tables || !ebbi_tables_make()) {
		ebbi_fetch_add_relaxed(&ebb_shared_profile.samples_dropped, 1);
		return false;
	}
	ebbi_unwind(&stack);
	weigh(&sample, asked_bytes, bytes, interval);
	if (!ebbi_tables_lock_try())
		return false;
	sample.site = ebbi_site_of_locked(&stack);
	done = sample.site != 0 && ebbi_sample_add_locked(&sample);
	if (done)
		credit_locked(&sample);
	else
		ebbi_fetch_add_relaxed(&ebb_shared_profile.samples_dropped, 1);
	ebbi_counter_add(&ebbi_tables.samples_taken, 1u);
	pay_locked(began_ns);
	leave_tables();
	return done;
}

static void drop(void *block)
{
	/* It lies where samples lie, but there was no memory for the tables: nobody knows of any. */
	if (EBBI_UNLIKELY(!ebbi_load_acquire(&ebbi_tables.ready))) /* partner: install_locked */
		return;
	if (!ebbi_tables_lock_try()) {
		postpone(block);
		return;
	}
	debit_locked(block);
	leave_tables();
}

static const struct ebbi_sampler sampler = {take, drop};

void ebbi_sampling_start(void)
{
	ebbi_lock_init(&ebbi_tables.lock, EBBI_RANK_SAMPLES);
	if (ebbi_heap.config.sample == 0 || ebbi_is_hardened() || !ebbi_objects_known())
		return;
	ebb_shared_profile.interval_bytes = ebbi_heap.config.sample;
	ebbi_store_release(&ebbi_heap.sampler, &sampler); /* partner: interval_of in heap/sampled.c */
	/* Constructors that ran before us (libstdc++ makes room for exceptions) were told "never": this thread draws anew. */
	ebbi_thread_self.left = 0;
	ebbi_thread_self.left_aside = 0;
}

void ebbi_sampling_fork_prepare(void)
{
	ebbi_tables_fork_prepare();
}

void ebbi_sampling_fork_end(bool in_child)
{
	ebbi_tables_fork_end(in_child);
}

void ebbi_sampling_figures(struct ebbi_sampling_figures *ret_figures)
{
	ret_figures->interval_bytes = ebbi_load_relaxed(&ebb_shared_profile.interval_bytes);
	ret_figures->live = ebbi_load_relaxed(&ebbi_tables.samples_live);
	ret_figures->taken = ebbi_load_relaxed(&ebbi_tables.samples_taken);
	ret_figures->dropped = ebbi_load_relaxed(&ebb_shared_profile.samples_dropped);
	ret_figures->table_bytes = ebbi_tables_bytes();
}

static void fill(struct ebb_owner *ret, const struct ebbi_owner *owner, uint64_t live_bytes)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->name, owner->name, sizeof(owner->name));
	ret->live_bytes = live_bytes;
	ret->error_bytes = ebbi_policy_root(ebbi_load_relaxed(&owner->variance)) << 10;
	ret->samples = ebbi_load_relaxed(&owner->samples);
}

void ebbi_sampling_owners(struct ebb_owner *ret_owners, unsigned room)
{
	unsigned used = ebbi_load_acquire(&ebbi_tables.ready) ? ebbi_load_acquire(&ebbi_tables.owners_used) : 0;
	unsigned count = 0;

	for (unsigned i = 0; i < EBBI_OWNERS_MOST && used != 0 && count < room; i++) {
		const struct ebbi_owner *owner = &ebbi_tables.owners[i];
		uint64_t live_bytes = ebbi_load_relaxed(&owner->live_bytes);
		unsigned at = count;

		if (live_bytes == 0 || (i >= used && i != EBBI_OWNER_OTHERS))
			continue;
		for (; at > 0 && ret_owners[at - 1].live_bytes < live_bytes; at--)
			ret_owners[at] = ret_owners[at - 1];
		fill(&ret_owners[at], owner, live_bytes);
		count++;
	}
	if (count < room)
		ret_owners[count].name[0] = '\0';
}

void ebbi_sampling_caller(char *ret_name, size_t size)
{
	struct ebbi_stack stack;

	ret_name[0] = '\0';
	if (!ebbi_objects_known() || !ebbi_tables_make())
		return;
	ebbi_unwind(&stack);
	if (stack.count != 0)
		ebbi_module_shown_name(ebbi_tables.modules[ebbi_stack_owner(&stack)].path, ret_name, size);
}
