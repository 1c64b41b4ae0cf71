/*
 * ranks.h: the one order in which locks are taken.
 *
 * Owns: enum ebbi_rank.
 * Never does: check; platform/futex.h does, in checked builds.
 * Threading: a thread that waits for a lock holds only locks of lower rank. Trying without waiting
 * is free of rank. The holder of REGISTRY may hold several locks of one rank (fork takes them all).
 * Errors: none.
 * Invariants: the enum's order is the locking order; a new rank goes where it is taken.
 */
#ifndef EBBI_BASE_RANKS_H
#define EBBI_BASE_RANKS_H

enum ebbi_rank {
	EBBI_RANK_NONE,     /* a lock nobody initialised: refused by checked builds */
	EBBI_RANK_SAMPLES,  /* the tables of the automatic accounts: before the heap is entered, and round a fork */
	EBBI_RANK_REGISTRY, /* the list of thread caches, fork */
	EBBI_RANK_CACHE,    /* one cache's control lock: held while somebody drains it */
	EBBI_RANK_SNAPSHOT, /* the figures are being taken for readers outside */
	EBBI_RANK_BUDGET,   /* the process is being measured */
	EBBI_RANK_PURGE,    /* memory is out of the lists to be given back; malloc and free never want it */
	EBBI_RANK_BIN,      /* one size class's slabs (one shard) */
	EBBI_RANK_GROW,     /* making new slabs and spans */
	EBBI_RANK_PAGES,    /* free page runs */
	EBBI_RANK_META,     /* metadata memory */
	EBBI_RANK_COUNT,
};

#endif
