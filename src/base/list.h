/*
 * list.h: circular doubly linked lists through a member of the listed struct.
 *
 * Owns: nothing; the links live in the members. Never: allocates. Threading: none of its own, the
 * caller's lock guards a list and every link on it. Errors: none.
 * Invariant: a link is either on one list or points to itself.
 */
#ifndef EBBI_BASE_LIST_H
#define EBBI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ebbi_list {
	struct ebbi_list *next;
	struct ebbi_list *prev;
};

#define EBBI_CONTAINER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void ebbi_list_init(struct ebbi_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool ebbi_list_is_empty(const struct ebbi_list *list)
{
	return list->next == list;
}

static inline void ebbi_list_insert_between(struct ebbi_list *link, struct ebbi_list *prev, struct ebbi_list *next)
{
	link->prev = prev;
	link->next = next;
	prev->next = link;
	next->prev = link;
}

static inline void ebbi_list_push_front(struct ebbi_list *list, struct ebbi_list *link)
{
	ebbi_list_insert_between(link, list, list->next);
}

static inline void ebbi_list_push_back(struct ebbi_list *list, struct ebbi_list *link)
{
	ebbi_list_insert_between(link, list->prev, list);
}

/* Take `link` off the list it is on; harmless when it is on none. */
static inline void ebbi_list_remove(struct ebbi_list *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	ebbi_list_init(link);
}

/* `link`, which is on no list, in the place of `old`, which is on none from then on if it was on one. */
static inline void ebbi_list_replace(struct ebbi_list *old, struct ebbi_list *link)
{
	ebbi_list_insert_between(link, old, old->next);
	ebbi_list_remove(old);
}

#endif
