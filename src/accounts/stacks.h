/*
 * stacks.h: stacks as a trie, and what was allocated from each.
 *
 * Owns: nodes and sites of the tables. Threading: the tables' lock is held. Errors: 0: no room.
 */
#ifndef EBBI_ACCOUNTS_STACKS_H
#define EBBI_ACCOUNTS_STACKS_H

#include "accounts/tables.h"
#include "accounts/unwind.h"

/* The number of the stack's site, made when it is new. */
uint32_t ebbi_site_of_locked(const struct ebbi_stack *stack);

/* The module to whose account the stack's memory goes. */
uint32_t ebbi_stack_owner(const struct ebbi_stack *stack);

#endif
