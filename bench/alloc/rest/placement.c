/*
 * placement: how many OS pages the survivors of a working heap lie on, which is what no allocator that does not
 * move objects can give back.
 *
 *   placement MODE [--quick | --scale X]
 *
 * A table of 64 MiB (lognormal sizes, median 100 bytes, 16 bytes to 16 KiB) is filled, a random object
 * replaced as often as there are objects, and all but the survivors freed; three times over, so that later
 * objects are placed among earlier survivors. MODE says who survives, some 3 % of the bytes:
 *
 *   random   any object, each by a throw of the dice
 *   time     stretches of 1000 objects that were made one after the other
 *   site     the objects of two call sites of forty, whose sizes other sites use as well
 *   falling  as random, but the table shrinks to a tenth by and by, while work goes on: for each object that is
 *            freed for good another one is replaced
 *
 * "pages_kib" is the answer, "live_kib" what it is to be held against. The rest: rest.h.
 */
#include "rest.h"

#define TABLE_BYTES (64u << 20)
#define CYCLES 3
#define SITES 40u
#define LASTING_SITES 2u
#define STRETCH 1000u
#define STRETCH_EVERY 33u
#define KEEP_PERMILLE 30u
#define FALLS_TO 10u /* a tenth */

enum mode { RANDOM, TIME, SITE, FALLING, MODES };

static enum mode mode; /* set before the thread starts */

/* What is known of the object in the same slot of the table; memory of the program's own. */
struct note {
	uint32_t site;
	uint32_t number; /* how many objects were made before it */
};

static struct note *notes;
static uint32_t made;

static uint32_t note_next(struct rng *r, uint64_t at)
{
	uint32_t site = rng_below(r, SITES);

	notes[at] = (struct note){site, made++};
	return site;
}

/* A site makes objects of eight sizes of its own; their size classes are shared with other sites. */
static uint32_t size_at(const struct sizes *sizes, struct rng *r, uint32_t site)
{
	uint32_t size = sizes->v[rng_next(r) >> 51];

	if (mode == SITE)
		size = sizes->v[site * (SIZES_COUNT / SITES) + rng_below(r, 8)];
	return size;
}

static int survives(struct rng *r, const struct note *note)
{
	switch (mode) {
	case TIME:
		return note->number / STRETCH % STRETCH_EVERY == 7;
	case SITE:
		return note->site < LASTING_SITES;
	default:
		return rng_below(r, 1000) < KEEP_PERMILLE;
	}
}

static void fill(struct worker *w)
{
	const struct sizes *sizes = w->rest->sizes;
	struct table *t = &w->table;
	uint64_t most = bench_count(&w->rest->bench, TABLE_BYTES);

	while (t->live_bytes < most) {
		uint32_t site = note_next(&w->rng, t->count);

		table_add(t, &w->rng, size_at(sizes, &w->rng, site));
	}
}

/* Replaces random objects that are not survivors of an earlier cycle. */
static void churn(struct worker *w, uint64_t earlier)
{
	struct table *t = &w->table;

	for (uint64_t i = earlier; i < t->count; i++) {
		uint64_t at = earlier + rng_below(&w->rng, (uint32_t)(t->count - earlier));
		uint32_t site = note_next(&w->rng, at);

		table_replace(t, &w->rng, at, size_at(w->rest->sizes, &w->rng, site));
	}
}

/* Returns how many there are now. */
static uint64_t thin(struct worker *w, uint64_t earlier)
{
	struct table *t = &w->table;
	uint64_t kept = earlier;

	for (uint64_t i = earlier; i < t->count; i++) {
		if (survives(&w->rng, &notes[i])) {
			t->slot[kept++] = t->slot[i];
			continue;
		}
		t->live_bytes -= t->slot[i].size;
		object_free(&t->slot[i]);
	}
	t->count = kept;
	return kept;
}

/* The last object takes the place of the one that goes. */
static void fall(struct worker *w, uint64_t earlier)
{
	struct table *t = &w->table;
	uint64_t least = earlier + (t->count - earlier) / FALLS_TO;

	while (t->count > least) {
		uint64_t gone = earlier + rng_below(&w->rng, (uint32_t)(t->count - earlier));
		uint64_t last = t->count - 1;

		t->live_bytes -= t->slot[gone].size;
		object_free(&t->slot[gone]);
		t->slot[gone] = t->slot[last];
		t->count = last;
		if (last > earlier)
			table_replace(t, &w->rng, earlier + rng_below(&w->rng, (uint32_t)(last - earlier)),
				      size_at(w->rest->sizes, &w->rng, 0));
	}
}

static void work(struct worker *w)
{
	uint64_t kept = 0;

	for (int cycle = 0; cycle < CYCLES; cycle++) {
		fill(w);
		churn(w, kept);
		if (mode == FALLING)
			fall(w, kept);
		else
			kept = thin(w, kept);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[MODES] = {"placement-random", "placement-time", "placement-site",
						 "placement-falling"};
	static struct rest rest = {.threads = 1, .work = work};
	static struct sizes sizes;
	struct rng r;

	for (mode = RANDOM; mode < MODES; mode++)
		if (argc > 1 && strcmp(argv[1], names[mode] + strlen("placement-")) == 0)
			break;
	if (mode == MODES)
		probe_die("usage: placement random|time|site|falling [--quick | --scale X]");
	rng_seed(&r, 29);
	sizes_lognormal(&sizes, &r, 100, 1.2, 16, 16 << 10);
	rest.name = names[mode];
	rest.sizes = &sizes;
	rest.table_capacity = TABLE_BYTES / 16;
	notes = rest_map(rest.table_capacity * sizeof(*notes));
	return rest_main(&rest, argc, argv);
}
