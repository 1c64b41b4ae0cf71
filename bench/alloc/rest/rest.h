/*
 * rest.h: what every resting program shares.
 *
 * Owns:       the worker threads and their four states (started, working, done,
 *             ended), the tables of objects, the measurements, the line of results.
 * Never:      allocates on the heap that is measured. The programs' own tables are
 *             shared anonymous mappings: those count as shmem, not as anonymous
 *             memory, so they are in no figure that a ratio is made of.
 * Threading:  a worker's table belongs to that worker until it is done, then to
 *             the main thread.
 * Errors:     as probe.h: one line on stderr, status 3.
 * Invariants: from the moment the last worker is done until the last sample
 *             is taken every thread sleeps in the kernel and nothing calls malloc.
 *
 * floor   = anonymous RSS once all threads are started and nothing was allocated
 *         + the distinct OS pages that hold a byte of a surviving object, as asked for.
 * peak    = the high-water mark of RSS less the tables, which only grow.
 * resting = anonymous RSS at 1, 2 and 5 seconds after the last worker was done.
 */
#ifndef EBB_BENCH_REST_H
#define EBB_BENCH_REST_H

#include "../bench.h"

#include <semaphore.h>
#include <sys/mman.h>

struct slot {
	void *p;
	uint32_t size, tag;
};

struct table {
	struct slot *slot;
	uint64_t count, capacity, live_bytes;
};

struct worker {
	struct rest *rest;
	uint32_t index;
	struct rng rng;
	struct table table;
	pthread_t thread;
};

struct rest {
	const char *name;
	uint32_t threads;
	uint64_t table_capacity;
	void (*work)(struct worker *w);
	void (*prepare)(struct rest *rest);   /* before any thread starts; or NULL */
	int (*tell)(char *line, size_t room); /* appends fields to the result, returns their length; or NULL */
	struct bench bench;
	struct sizes *sizes;        /* set by main before any thread starts, then constant */
	pthread_barrier_t together; /* all workers, for work that goes in step */
	sem_t started, go, done, end;
	struct worker *workers;
};

void rest_sleep_until(uint64_t when_ns);

/* Memory of the program's own, outside the heap and outside every figure. */
void *rest_map(uint64_t bytes);

/* A new object in the table, every byte of it written. */
void table_add(struct table *t, struct rng *r, uint32_t size);
/* Frees the object at an index and puts a new one there. */
void table_replace(struct table *t, struct rng *r, uint64_t at, uint32_t size);
void object_make(struct slot *s, struct rng *r, uint32_t size);
void object_free(struct slot *s);
/* Frees all objects but those for which a draw falls under keep_permille. */
void table_thin(struct table *t, struct rng *r, uint32_t keep_permille);
/* Appends an object that another table had. */
void table_take(struct table *t, const struct slot *s);

/* The whole program; returns main's status. */
int rest_main(struct rest *rest, int argc, char **argv);

#endif
