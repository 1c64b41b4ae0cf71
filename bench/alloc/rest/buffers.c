/*
 * buffers (workload d): two threads, each filling 128 MiB with buffers of 64 KiB to
 * 4 MiB and then freeing all but one in forty. Four times; the survivors of all
 * rounds stay.
 */
#include "rest.h"

#define ROUNDS 4
#define BYTES (128u << 20)

static void work(struct worker *w)
{
	struct table *t = &w->table;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t old = t->count, kept = t->count;

		while (t->live_bytes < BYTES)
			table_add(t, &w->rng, sizes_pick(w->rest->sizes, &w->rng));
		for (uint64_t k = old; k < t->count; k++) {
			if (k % 40 == 20) {
				t->slot[kept++] = t->slot[k];
				continue;
			}
			t->live_bytes -= t->slot[k].size;
			object_free(&t->slot[k]);
		}
		t->count = kept;
	}
}

int main(int argc, char **argv)
{
	static struct rest rest = {.name = "d-buffers", .threads = 2, .work = work};
	static struct sizes sizes;
	struct rng r;

	rng_seed(&r, 22);
	sizes_loguniform(&sizes, &r, 64 << 10, 4 << 20);
	rest.sizes = &sizes;
	rest.table_capacity = BYTES / (64 << 10);
	return rest_main(&rest, argc, argv);
}
