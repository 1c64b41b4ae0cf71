/*
 * drained (workload g): five hundred threads fill 512 KiB each with objects of
 * 16 bytes to 4 KiB, all are full at once, then everything is freed.
 */
#include "rest.h"

#define BYTES (512u << 10)

static void work(struct worker *w)
{
	struct table *t = &w->table;

	while (t->live_bytes < BYTES)
		table_add(t, &w->rng, sizes_pick(w->rest->sizes, &w->rng));
	pthread_barrier_wait(&w->rest->together);
	table_thin(t, &w->rng, 0);
}

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "g-drained", .threads = 500, .work = work};
	static struct sizes sizes;
	struct rng r;

	rng_seed(&r, 23);
	sizes_loguniform(&sizes, &r, 16, 4096);
	rest.sizes = &sizes;
	rest.table_capacity = BYTES / 16;
	return rest_main(&rest, argc, argv);
}
