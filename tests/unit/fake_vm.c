#include "fake_vm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "platform/futex.h"
#include "seeded.h"

#define RANGES_MOST 4096u
#define REAL_PAGE ((size_t)4096)

/* One reservation; `committed` has a byte for every real page. */
struct range {
	uintptr_t base;
	size_t bytes;
	uint8_t *committed;
	bool reserved; /* by reserve, not by map */
};

struct plan {
	unsigned calls;
	unsigned refused;
	unsigned let_pass;
	unsigned refuse;
	int error; /* what a refusal says; 0: the usual */
	uintptr_t last_base;
	size_t last_bytes;
};

static const char *const op_names[FAKE_OPS] = {"reserve", "commit",      "map",   "purge", "unmap",
					       "remap",   "advise_huge", "guard", "split"};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows */
static struct range ranges[RANGES_MOST];
static unsigned range_count;
static struct plan plans[FAKE_OPS];
static size_t page_bytes = REAL_PAGE;
static unsigned random_ops;
static unsigned random_per_mille;
static uint64_t random_state;
static size_t maps_most; /* 0: no limit */
static uintptr_t place;  /* 0: anywhere */

static _Noreturn void die(enum fake_op op, const char *what, uintptr_t base, size_t bytes)
{
	fprintf(stderr, "fake vm: %s(%#zx, %zu): %s\n", op_names[op], (size_t)base, bytes, what);
	abort();
}

static uint8_t *books(size_t bytes)
{
	void *memory = mmap(NULL, bytes / REAL_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* The caller holds no lock that malloc or free may need: growing and draining have one each, see there. */
static void check_locks(enum fake_op op, uintptr_t base, size_t bytes)
{
#if EBBI_CHECKED
	uint32_t held = ebbi_lock_ranks_held() & ~(1u << EBBI_RANK_GROW | 1u << EBBI_RANK_PURGE);

	if (op == FAKE_PURGE || op == FAKE_UNMAP)
		held &= ~(1u << EBBI_RANK_CACHE);
	if (held != 0)
		die(op, "called with a lock held", base, bytes);
#else
	(void)op;
	(void)base;
	(void)bytes;
#endif
}

/* Count the call; true when it is to be refused. Takes the mutex, which done() gives up. */
static bool begin(enum fake_op op, uintptr_t base, size_t bytes)
{
	struct plan *plan = &plans[op];
	bool refuse = false;

	check_locks(op, base, bytes);
	(void)pthread_mutex_lock(&mutex);
	if (bytes == 0 || bytes % page_bytes != 0 || base % page_bytes != 0)
		die(op, "not whole pages", base, bytes);
	plan->calls++;
	plan->last_base = base;
	plan->last_bytes = bytes;
	if (plan->let_pass > 0) {
		plan->let_pass--;
	} else if (plan->refuse > 0) {
		plan->refuse -= plan->refuse != UINT32_MAX;
		refuse = true;
	}
	if ((random_ops & FAKE_BIT(op)) && seeded_below(&random_state, 1000) < random_per_mille)
		refuse = true;
	plan->refused += refuse;
	return refuse;
}

/* The answer to a call that is refused. */
static int refusal(enum fake_op op, int usual)
{
	return plans[op].error != 0 ? plans[op].error : usual;
}

static int done(int result)
{
	(void)pthread_mutex_unlock(&mutex);
	return result;
}

static struct range *range_of(uintptr_t base, size_t bytes)
{
	for (unsigned i = 0; i < range_count; i++)
		if (base >= ranges[i].base && base - ranges[i].base < ranges[i].bytes &&
		    bytes <= ranges[i].bytes - (base - ranges[i].base))
			return &ranges[i];
	return NULL;
}

static bool committed(const struct range *range, uintptr_t base, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += REAL_PAGE)
		if (!range->committed[(base - range->base + at) / REAL_PAGE])
			return false;
	return true;
}

/* As above for memory that may lie in several ranges, one right behind the other: free runs merge across regions. */
static bool all_committed(uintptr_t base, size_t bytes)
{
	while (bytes > 0) {
		struct range *range = range_of(base, 1);
		size_t here;

		if (range == NULL)
			return false;
		here = ebbi_min_size(bytes, range->bytes - (base - range->base));
		if (!committed(range, base, here))
			return false;
		base += here;
		bytes -= here;
	}
	return true;
}

/* What the kernel would count for one range: stretches of equal rights. */
static size_t maps_of(const struct range *range)
{
	size_t maps = 1;

	for (size_t page = 1; page < range->bytes / REAL_PAGE; page++)
		maps += range->committed[page] != range->committed[page - 1];
	return maps;
}

static size_t maps_now(void)
{
	size_t maps = 0;

	for (unsigned i = 0; i < range_count; i++)
		maps += maps_of(&ranges[i]);
	return maps;
}

/* One more mapping would be too many. Neighbours do not merge here, so the count is an upper bound. */
static bool maps_are_full(void)
{
	return maps_most != 0 && maps_now() >= maps_most;
}

/* Address space for a range: at the place that was asked for, or next below whatever is there already. */
static char *find_space(size_t bytes, int rights)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	if (place == 0)
		return mmap(NULL, bytes, rights, flags, -1, 0);
	while (place > bytes) {
		void *found;

		place -= bytes;
		found = mmap((void *)place, bytes, rights, flags | MAP_FIXED_NOREPLACE, -1, 0);
		if (found == (void *)place)
			return found;
		if (found != MAP_FAILED)
			(void)munmap(found, bytes);
	}
	return MAP_FAILED;
}

/* Aligned real memory, as a range. */
static int take(enum fake_op op, size_t bytes, size_t align_bytes, int rights, void **ret_base)
{
	size_t wide = bytes + align_bytes;
	char *raw;
	char *base;

	if (!ebbi_is_power_of_two(align_bytes))
		die(op, "alignment is no power of two", align_bytes, bytes);
	if (begin(op, 0, bytes) || maps_are_full())
		return done(refusal(op, -ENOMEM));
	align_bytes = ebbi_max_size(align_bytes, page_bytes);
	wide = bytes + align_bytes;
	raw = find_space(wide, rights);
	if (raw == MAP_FAILED)
		return done(-ENOMEM);
	base = (char *)ebbi_round_up((uintptr_t)raw, align_bytes);
	if (base > raw)
		(void)munmap(raw, (size_t)(base - raw));
	if (raw + wide > base + bytes)
		(void)munmap(base + bytes, (size_t)(raw + wide - (base + bytes)));
	if (range_count == RANGES_MOST)
		die(op, "more ranges than the fake can keep", (uintptr_t)base, bytes);
	ranges[range_count] = (struct range){(uintptr_t)base, bytes, books(bytes), rights == PROT_NONE};
	if (rights != PROT_NONE)
		memset(ranges[range_count].committed, 1, bytes / REAL_PAGE);
	range_count++;
	plans[op].last_base = (uintptr_t)base;
	*ret_base = base;
	return done(0);
}

static int fake_reserve(size_t bytes, size_t align_bytes, void **ret_base)
{
	return take(FAKE_RESERVE, bytes, align_bytes, PROT_NONE, ret_base);
}

static int fake_map(size_t bytes, size_t align_bytes, void **ret_base)
{
	return take(FAKE_MAP, bytes, align_bytes, PROT_READ | PROT_WRITE, ret_base);
}

static int fake_commit(void *base, size_t bytes)
{
	bool refuse = begin(FAKE_COMMIT, (uintptr_t)base, bytes);
	struct range *range = range_of((uintptr_t)base, bytes);

	if (range == NULL)
		die(FAKE_COMMIT, "not within a reservation", (uintptr_t)base, bytes);
	if (refuse)
		return done(refusal(FAKE_COMMIT, -ENOMEM));
	if (mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0)
		return done(-errno);
	memset(range->committed + ((uintptr_t)base - range->base) / REAL_PAGE, 1, bytes / REAL_PAGE);
	return done(0);
}

static int fake_purge(void *base, size_t bytes)
{
	bool refuse = begin(FAKE_PURGE, (uintptr_t)base, bytes);

	if (!all_committed((uintptr_t)base, bytes))
		die(FAKE_PURGE, "not committed memory", (uintptr_t)base, bytes);
	if (refuse)
		return done(refusal(FAKE_PURGE, -EINVAL));
	return done(madvise(base, bytes, MADV_DONTNEED) == 0 ? 0 : -errno);
}

/* The books stay with whoever has a copy of the range. */
static void drop(struct range *range)
{
	*range = ranges[--range_count];
}

/* Take the part [base, base + bytes), which lies within the range, out of the books. */
static void cut(struct range *range, uintptr_t base, size_t bytes)
{
	struct range old = *range;
	size_t before = base - old.base;
	size_t behind = old.bytes - before - bytes;

	drop(range);
	if (range_count + 2 > RANGES_MOST)
		die(FAKE_UNMAP, "more ranges than the fake can keep", base, bytes);
	if (before > 0) {
		ranges[range_count] = (struct range){old.base, before, books(before), old.reserved};
		memcpy(ranges[range_count++].committed, old.committed, before / REAL_PAGE);
	}
	if (behind > 0) {
		ranges[range_count] = (struct range){base + bytes, behind, books(behind), old.reserved};
		memcpy(ranges[range_count++].committed, old.committed + (before + bytes) / REAL_PAGE,
		       behind / REAL_PAGE);
	}
	(void)munmap(old.committed, old.bytes / REAL_PAGE);
}

/* Any part of what was handed out, also of several ranges, one right behind the other. */
static int fake_unmap(void *base, size_t bytes)
{
	bool refuse = begin(FAKE_UNMAP, (uintptr_t)base, bytes);
	struct range *first = range_of((uintptr_t)base, 1);

	for (size_t at = 0; at < bytes; at += page_bytes)
		if (range_of((uintptr_t)base + at, 1) == NULL)
			die(FAKE_UNMAP, "not handed out", (uintptr_t)base, bytes);
	/* A hole in the middle of a range makes two of one. */
	refuse |= first->base < (uintptr_t)base && (uintptr_t)base + bytes < first->base + first->bytes &&
		  maps_are_full();
	if (refuse)
		return done(refusal(FAKE_UNMAP, -ENOMEM));
	(void)munmap(base, bytes);
	for (uintptr_t at = (uintptr_t)base; bytes > 0;) {
		struct range *range = range_of(at, 1);
		size_t here = ebbi_min_size(bytes, range->bytes - (at - range->base));

		cut(range, at, here);
		at += here;
		bytes -= here;
	}
	return done(0);
}

/* What ends with the range is longer by `more` now. */
static void lengthen(struct range *range, size_t more)
{
	struct range old = *range;

	range->bytes += more;
	range->committed = books(range->bytes);
	memset(range->committed, 1, range->bytes / REAL_PAGE);
	memcpy(range->committed, old.committed, old.bytes / REAL_PAGE);
	(void)munmap(old.committed, old.bytes / REAL_PAGE);
}

/* A range or a part of one; over two of them the kernel moves nothing. */
static int fake_remap(void *base, size_t old_bytes, size_t new_bytes, void *target)
{
	bool refuse = begin(FAKE_REMAP, (uintptr_t)base, old_bytes);
	struct range *range = range_of((uintptr_t)base, old_bytes);
	struct range *onto = target == NULL ? NULL : range_of((uintptr_t)target, new_bytes);
	int flags = target == NULL ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;

	if (new_bytes % page_bytes != 0 || !all_committed((uintptr_t)base, old_bytes))
		die(FAKE_REMAP, "to odd length, or not committed", (uintptr_t)base, new_bytes);
	if (target != NULL && (onto == NULL || onto->base != (uintptr_t)target || onto->bytes != new_bytes))
		die(FAKE_REMAP, "target is not one whole reservation", (uintptr_t)target, new_bytes);
	if (range == NULL)
		return done(refusal(FAKE_REMAP, -EFAULT));
	if (refuse || mremap(base, old_bytes, new_bytes, flags, target) == MAP_FAILED)
		return done(refusal(FAKE_REMAP, -ENOMEM));
	if (target != NULL) {
		memset(onto->committed, 1, new_bytes / REAL_PAGE);
		onto->reserved = false;
		cut(range, (uintptr_t)base, old_bytes);
	} else if (new_bytes < old_bytes) {
		cut(range, (uintptr_t)base + new_bytes, old_bytes - new_bytes);
	} else {
		lengthen(range, new_bytes - old_bytes);
	}
	return done(0);
}

static int fake_advise_huge(void *base, size_t bytes, int huge)
{
	bool refuse = begin(FAKE_ADVISE, (uintptr_t)base, bytes);

	(void)huge;
	for (size_t at = 0; at < bytes; at += page_bytes)
		if (range_of((uintptr_t)base + at, 1) == NULL)
			die(FAKE_ADVISE, "not handed out", (uintptr_t)base, bytes);
	return done(refuse ? refusal(FAKE_ADVISE, -EINVAL) : 0);
}

static int fake_guard(void *base, size_t bytes)
{
	bool refuse = begin(FAKE_GUARD, (uintptr_t)base, bytes);
	struct range *range = range_of((uintptr_t)base, bytes);

	if (range == NULL || !committed(range, (uintptr_t)base, bytes))
		die(FAKE_GUARD, "not committed memory", (uintptr_t)base, bytes);
	if (refuse || mprotect(base, bytes, PROT_NONE) != 0)
		return done(refusal(FAKE_GUARD, -ENOMEM));
	memset(range->committed + ((uintptr_t)base - range->base) / REAL_PAGE, 0, bytes / REAL_PAGE);
	return done(0);
}

static int fake_split(void *base, size_t bytes)
{
	bool refuse = begin(FAKE_SPLIT, (uintptr_t)base, bytes);

	if (!all_committed((uintptr_t)base, bytes))
		die(FAKE_SPLIT, "not committed memory", (uintptr_t)base, bytes);
	return done(refuse ? refusal(FAKE_SPLIT, -EINVAL) : 0);
}

static size_t fake_maps_left(void)
{
	size_t left = 1000;

	(void)pthread_mutex_lock(&mutex);
	if (maps_most != 0)
		left = maps_most - ebbi_min_size(maps_most, maps_now());
	(void)pthread_mutex_unlock(&mutex);
	return left;
}

const struct ebbi_vm fake_vm = {
	.reserve = fake_reserve,
	.commit = fake_commit,
	.map = fake_map,
	.purge = fake_purge,
	.unmap = fake_unmap,
	.remap = fake_remap,
	.advise_huge = fake_advise_huge,
	.split = fake_split,
	.maps_left = fake_maps_left,
	.guard = fake_guard,
};

void fake_vm_reset(size_t bytes)
{
	unsigned kept = 0;

	(void)pthread_mutex_lock(&mutex);
	/*
	 * Emptied but not unmapped: the page map still has entries for these addresses. What `map` gave stays as it
	 * is: the page map's own leaves are among it.
	 */
	for (unsigned i = 0; i < range_count; i++) {
		if (ranges[i].reserved &&
		    mmap((void *)ranges[i].base, ranges[i].bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
			abort();
	}
	for (unsigned i = 0; i < range_count; i++) {
		if (ranges[i].reserved)
			(void)munmap(ranges[i].committed, ranges[i].bytes / REAL_PAGE);
		else
			ranges[kept++] = ranges[i]; /* may be purged in a later case */
	}
	range_count = kept;
	memset(plans, 0, sizeof(plans));
	random_ops = 0;
	maps_most = 0;
	page_bytes = bytes;
	(void)pthread_mutex_unlock(&mutex);
}

void fake_vm_place_below(uintptr_t top)
{
	(void)pthread_mutex_lock(&mutex);
	place = top;
	(void)pthread_mutex_unlock(&mutex);
}

unsigned fake_vm_calls(enum fake_op op)
{
	unsigned calls;

	(void)pthread_mutex_lock(&mutex);
	calls = plans[op].calls;
	(void)pthread_mutex_unlock(&mutex);
	return calls;
}

unsigned fake_vm_refused(enum fake_op op)
{
	unsigned refused;

	(void)pthread_mutex_lock(&mutex);
	refused = plans[op].refused;
	(void)pthread_mutex_unlock(&mutex);
	return refused;
}

void fake_vm_last(enum fake_op op, uintptr_t *ret_base, size_t *ret_bytes)
{
	(void)pthread_mutex_lock(&mutex);
	*ret_base = plans[op].last_base;
	*ret_bytes = plans[op].last_bytes;
	(void)pthread_mutex_unlock(&mutex);
}

void fake_vm_refuse(enum fake_op op, unsigned after, unsigned count)
{
	(void)pthread_mutex_lock(&mutex);
	plans[op].let_pass = after;
	plans[op].refuse = count;
	(void)pthread_mutex_unlock(&mutex);
}

void fake_vm_refuse_with(enum fake_op op, int error)
{
	(void)pthread_mutex_lock(&mutex);
	plans[op].error = error;
	(void)pthread_mutex_unlock(&mutex);
}

void fake_vm_limit_maps(size_t most)
{
	(void)pthread_mutex_lock(&mutex);
	maps_most = most;
	(void)pthread_mutex_unlock(&mutex);
}

size_t fake_vm_maps(void)
{
	size_t maps;

	(void)pthread_mutex_lock(&mutex);
	maps = maps_now();
	(void)pthread_mutex_unlock(&mutex);
	return maps;
}

void fake_vm_refuse_randomly(unsigned ops, unsigned per_mille, uint64_t seed)
{
	(void)pthread_mutex_lock(&mutex);
	random_ops = per_mille == 0 ? 0 : ops;
	random_per_mille = per_mille;
	random_state = seed;
	(void)pthread_mutex_unlock(&mutex);
}

size_t fake_vm_resident_pages(uintptr_t base, size_t bytes)
{
	size_t resident = 0;

	for (size_t at = 0; at < bytes; at += 64 * REAL_PAGE) {
		unsigned char here[64];
		size_t length = ebbi_min_size(bytes - at, 64 * REAL_PAGE);

		if (mincore((void *)(base + at), length, here) != 0)
			abort();
		for (size_t i = 0; i < length / REAL_PAGE; i++)
			resident += here[i] & 1;
	}
	return resident;
}

size_t fake_vm_committed_bytes(void)
{
	size_t sum = 0;

	(void)pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < range_count; i++)
		for (size_t page = 0; page < ranges[i].bytes / REAL_PAGE; page++)
			sum += ranges[i].committed[page] * REAL_PAGE;
	(void)pthread_mutex_unlock(&mutex);
	return sum;
}

size_t fake_vm_reserved_bytes(void)
{
	size_t sum = 0;

	(void)pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < range_count; i++)
		sum += ranges[i].bytes;
	(void)pthread_mutex_unlock(&mutex);
	return sum;
}

bool fake_vm_is_committed(uintptr_t base, size_t bytes)
{
	bool is;

	(void)pthread_mutex_lock(&mutex);
	is = all_committed(base, bytes);
	(void)pthread_mutex_unlock(&mutex);
	return is;
}
