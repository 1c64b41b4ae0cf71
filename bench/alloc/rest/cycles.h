/*
 * cycles.h: the work of (a) and (b), which differ in threads, bytes and survivors.
 *
 * Owns: nothing but two constants set before the threads start. The rest: rest.h.
 */
#ifndef EBB_BENCH_CYCLES_H
#define EBB_BENCH_CYCLES_H

#include "rest.h"

#define CYCLES 3

static uint64_t cycles_bytes;
static uint32_t cycles_keep_permille;

static void cycles_work(struct worker *w)
{
	struct table *t = &w->table;

	for (int i = 0; i < CYCLES; i++) {
		while (t->live_bytes < cycles_bytes)
			table_add(t, &w->rng, sizes_pick(w->rest->sizes, &w->rng));
		for (uint64_t k = t->count / 2; k > 0; k--)
			table_replace(t, &w->rng, rng_below(&w->rng, (uint32_t)t->count),
				      sizes_pick(w->rest->sizes, &w->rng));
		table_thin(t, &w->rng, cycles_keep_permille);
	}
}

static int cycles_main(struct rest *rest, int argc, char **argv, uint64_t bytes, uint32_t permille)
{
	static struct sizes sizes;
	struct rng r;

	rng_seed(&r, 20);
	sizes_lognormal(&sizes, &r, 200, 1.5, 16, 80 << 10);
	rest->sizes = &sizes;
	rest->work = cycles_work;
	rest->table_capacity = bytes / 64;
	cycles_bytes = bytes;
	cycles_keep_permille = permille;
	return rest_main(rest, argc, argv);
}

#endif
