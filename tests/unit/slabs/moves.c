/* Descriptors move while other threads give slots back and take some: no slot is lost, none is given twice. */
#include <pthread.h>
#include <sched.h>

#include "check.h"
#include "seeded.h"
#include "slabs/store.h"

#define CLASS EBBI_CLASS_2048
#define GIVERS 3u
#define SLOTS 2000u /* of each giver: 83 slabs */
#define ROUNDS 6u

static struct ebbi_store store;
static unsigned giving; /* atomic: givers at work */
static unsigned passes; /* atomic: of the one who moves */

struct giver {
	pthread_t thread;
	uint64_t seed;
	unsigned count;
	void *slots[SLOTS];
};

static struct giver givers[GIVERS];

/* One slot: whoever had it wrote something else there. */
static void *take_one(void)
{
	void *slot = NULL;
	struct ebbi_taking taking = {.wanted = 1, .slots = &slot, .room = 1};

	CHECK_EQ(ebbi_bin_take(&store, &store.home.bins[CLASS], &taking), 0);
	return taking.count > 0 ? slot : taking.base + ebbi_bit_lowest(taking.bits) * (size_t)ebbi_sizes[CLASS].bytes;
}

static void shuffle(struct giver *giver)
{
	for (unsigned i = giver->count; i > 1; i--) {
		unsigned other = (unsigned)seeded_below(&giver->seed, i);
		void *slot = giver->slots[i - 1];

		giver->slots[i - 1] = giver->slots[other];
		giver->slots[other] = slot;
	}
}

/* All slots of a giver lie in slabs that the others have slots of, too: they take in turn. */
static void fill(struct giver *giver)
{
	while (giver->count < SLOTS) {
		void *slot = take_one();

		*(void **)slot = giver;
		giver->slots[giver->count++] = slot;
		if (giver->count % 128 == 0)
			sched_yield();
	}
}

/* Down to a sixty-fourth. */
static void thin(struct giver *giver)
{
	while (giver->count > SLOTS / 64) {
		unsigned count = 1 + (unsigned)seeded_below(&giver->seed, SLOTS / 64);

		giver->count -= count;
		for (unsigned i = 0; i < count; i++)
			CHECK(*(void **)giver->slots[giver->count + i] == (void *)giver);
		ebbi_bin_give(&store, &store.home.bins[CLASS], &giver->slots[giver->count], count);
	}
}

/* Each round sees a pass of the one who moves. */
static void *give(void *argument)
{
	struct giver *giver = argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned pass = __atomic_load_n(&passes, __ATOMIC_RELAXED);

		fill(giver);
		shuffle(giver);
		thin(giver);
		while (__atomic_load_n(&passes, __ATOMIC_RELAXED) == pass)
			sched_yield();
	}
	(void)__atomic_sub_fetch(&giving, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(moves_among_givers)
{
	unsigned left_slots = 0;
	size_t left = 0;

	ebbi_store_init(&store, &ebbi_vm_kernel, ebbi_vm_page_bytes(), EBBI_HUGE_ADVICE_NONE);
	giving = GIVERS;
	for (unsigned i = 0; i < GIVERS; i++) {
		givers[i].seed = i + 1;
		CHECK_EQ(pthread_create(&givers[i].thread, NULL, give, &givers[i]), 0);
	}
	while (__atomic_load_n(&giving, __ATOMIC_ACQUIRE) > 0) {
		(void)ebbi_bin_purge(&store, &store.home.bins[CLASS], /* everything= */ true, &left);
		ebbi_store_gather_metadata(&store);
		(void)ebbi_store_purge_metadata(&store);
		ebbi_bin_check(&store.home.bins[CLASS]);
		ebbi_meta_check(&store.meta);
		(void)__atomic_add_fetch(&passes, 1, __ATOMIC_RELAXED);
	}
	for (unsigned i = 0; i < GIVERS; i++) {
		CHECK_EQ(pthread_join(givers[i].thread, NULL), 0);
		left_slots += givers[i].count;
	}
	CHECK_EQ(store.home.bins[CLASS].used_slots, left_slots);
	/* They thinned out at different times; now all have. */
	(void)ebbi_bin_purge(&store, &store.home.bins[CLASS], /* everything= */ true, &left);
	ebbi_store_gather_metadata(&store);
	for (unsigned i = 0; i < GIVERS; i++)
		ebbi_bin_give(&store, &store.home.bins[CLASS], givers[i].slots, givers[i].count);
	CHECK_EQ(store.home.bins[CLASS].used_slots, 0u);
	CHECK_LE(store.home.bins[CLASS].slabs, 1u);
	CHECK_GE(store.home.bins[CLASS].moves, 1u);
	(void)ebbi_bin_purge(&store, &store.home.bins[CLASS], /* everything= */ true, &left);
	CHECK_EQ(store.meta.used_bytes, 0u);
}

int main(void)
{
	RUN(moves_among_givers);
	return check_report();
}
