/*
 * sampling.h: the automatic accounts: who holds how much, told from samples.
 *
 * Owns: what heap/sampled.h calls with each sample: its stack, its weight, whose account it goes to, and taking it off again. Keeps
 * sampling within a hundredth of a CPU. Never: runs inside of the heap, holds its lock while a stack is walked.
 *
 * Threading: any thread, signal handlers too. Errors: what does not fit is counted as dropped, and missing in the figures.
 */
#ifndef EBBI_ACCOUNTS_SAMPLING_H
#define EBBI_ACCOUNTS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ebb/ebb.h>

struct ebbi_sampling_figures {
	uint64_t interval_bytes; /* 0: none are taken */
	uint64_t live;
	uint64_t taken;
	uint64_t dropped;
	uint64_t table_bytes;
};

/* Once, after the heap's boot: from now on samples are taken, if the options want them and stacks can be walked. */
void ebbi_sampling_start(void);

/* Around fork(2), in the forking thread: prepare before the heap's, end after it. */
void ebbi_sampling_fork_prepare(void);
void ebbi_sampling_fork_end(bool in_child);

void ebbi_sampling_figures(struct ebbi_sampling_figures *ret_figures);

/*
 * The owners of live samples into `ret_owners`, the largest first, and behind them an entry without a name; `room` is
 * EBB_SNAPSHOT_OWNERS or more. Takes no lock.
 */
void ebbi_sampling_owners(struct ebb_owner *ret_owners, unsigned room);

/* The shown name of whoever calls, as an account: for a refusal. */
void ebbi_sampling_caller(char *ret_name, size_t size);

#endif
