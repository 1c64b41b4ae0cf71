/*
 * sparse.h: the work of (e) and (f): eight million objects of 16-128 bytes, of which
 * one in 64 survives: every 64th, or runs of 1024 in a row.
 *
 * Owns: one constant set before the thread starts. The rest: rest.h.
 */
#ifndef EBB_BENCH_SPARSE_H
#define EBB_BENCH_SPARSE_H

#include "rest.h"

#define OBJECTS 8000000.0

static uint64_t sparse_run;

static void sparse_work(struct worker *w)
{
	struct table *t = &w->table;
	uint64_t kept = 0;

	for (uint64_t i = bench_count(&w->rest->bench, OBJECTS); i > 0; i--)
		table_add(t, &w->rng, 16 + rng_below(&w->rng, 113));
	for (uint64_t i = 0; i < t->count; i++) {
		if (i / sparse_run % 64 == 32)
			t->slot[kept++] = t->slot[i];
		else
			object_free(&t->slot[i]);
	}
	t->count = kept;
}

static int sparse_main(struct rest *rest, int argc, char **argv, uint64_t run)
{
	rest->threads = 1;
	rest->work = sparse_work;
	rest->table_capacity = (uint64_t)OBJECTS;
	sparse_run = run;
	return rest_main(rest, argc, argv);
}

#endif
