/*
 * sizing.h: whether a row of `ebb size` kept up, and which rate comes next.
 *
 * Owns: nothing. Pure. Threading: any. Errors: none.
 * A row kept up when 99 % of what was offered was served (200 to 399, in time) and its p99 did not explode: it is below
 * 1 s, and below 100 ms or 10 times that of the lowest rate. Where it did not and the generator itself was late or used up
 * a CPU, the server is not to blame: the machine is the limit.
 *
 * The rates go up until one is not kept up with: the knee lies between it and the one before. SIZING_STEPS rates between
 * the two narrow it down. Invariant: each rate comes once.
 */
#ifndef EBBI_LAB_SIZING_H
#define EBBI_LAB_SIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIZING_RATES 32
#define SIZING_STEPS 2
#define SIZING_SERVED_SHARE 0.99
#define SIZING_SLOW_NS 100000000u
#define SIZING_TOO_SLOW_NS 1000000000u
#define SIZING_SLOWER 10
#define SIZING_LAG_NS 20000000u
#define SIZING_CORE 0.9

struct sizing_facts {
	bool died; /* the server did not live to see the end */
	uint64_t offered, served;
	uint64_t p99_ns;
	uint64_t lag_p99_ns;    /* of the generator */
	double generator_cores; /* CPU time by time */
};

enum sizing_verdict {
	SIZING_KEPT_UP,
	SIZING_BEHIND,  /* did not serve what was offered */
	SIZING_SLOW,    /* served it, but too late */
	SIZING_MACHINE, /* the load could not be made */
	SIZING_DIED,
};

/* `base_p99_ns`: that of the lowest rate that was kept up with; 0: there is none yet. */
enum sizing_verdict ebbi_sizing_judge(const struct sizing_facts *facts, uint64_t base_p99_ns);

/* Whether what must fit (`bytes`, at most) fits the process's share of a machine. */
static inline bool ebbi_sizing_fits(uint64_t bytes, uint64_t box_bytes, double share)
{
	return (double)bytes <= (double)box_bytes * share;
}

struct sizing {
	const uint64_t *rates; /* ascending */
	size_t count;
	size_t next;
	uint64_t best;  /* the highest that was kept up with; 0: none */
	uint64_t knee;  /* the lowest that was not; 0: none */
	unsigned steps; /* between the two so far */
};

void ebbi_sizing_start(struct sizing *sizing, const uint64_t *rates, size_t count);
/* The rate to run; 0: it is over. */
uint64_t ebbi_sizing_next(const struct sizing *sizing);
/* How that one went. */
void ebbi_sizing_tell(struct sizing *sizing, uint64_t rate, enum sizing_verdict verdict);

#endif
