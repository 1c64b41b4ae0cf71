/*
 * snapshot.h: the figures of stats.def, filled in.
 *
 * Owns: the arithmetic from the layers' counters to struct ebb_snapshot, and the shared copy that is
 * read from outside. Never: changes the heap, allocates, calls the C library.
 * Threading: any thread that is inside its cache or has none, since bins' locks are taken one after
 * another. Errors: none.
 *
 * The figures of one moment are not taken at one instant: a slot may move from a cache to a bin
 * between two lines. Differences are therefore cut off at 0, and are right when nothing happens.
 */
#ifndef EBBI_STATS_SNAPSHOT_H
#define EBBI_STATS_SNAPSHOT_H

#include <ebb/ebb.h>

/* Fill all figures, and the lists up to the entry that ends each. */
void ebbi_snapshot_take(struct ebb_snapshot *ret_snapshot);

/* What an explicit account has. -EINVAL: there is no such account. */
int ebbi_snapshot_account(int account, struct ebb_account *ret_account);

/* Refresh ebb_shared_snapshot; without effect while somebody else does, or holds it. */
void ebbi_snapshot_publish(void);

/*
 * Refresh it and keep it as it is until it is released: nobody needs 10 KiB of stack to look at it. Waits for others who hold
 * it. What is done meanwhile must not take the figures again.
 */
const struct ebb_snapshot *ebbi_snapshot_hold(void);
void ebbi_snapshot_release(void);

/* In the child of a fork, whose parent may have been writing. */
void ebbi_snapshot_forget(void);

/* The statistics as text, to stderr, in one write. */
void ebbi_snapshot_print(const struct ebb_snapshot *snapshot);

#endif
