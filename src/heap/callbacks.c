#include "heap/callbacks.h"

#include <errno.h>

#include "heap/heap.h"
#include "platform/event.h"
#include "policy/budget.h"

/* A place is taken by its state, filled, and opened by its level. */
struct place {
	uint32_t taken;          /* acquire/release */
	uint32_t level;          /* acquire/release: 0: not open; partner of each other */
	uint32_t due;            /* relaxed */
	ebbi_callback *callback; /* NULL: the descriptor */
	struct ebbi_event event;
};

static struct place places[EBBI_CALLBACKS_MOST];
static uint32_t calling; /* acquire/release: one thread at a time */

uint32_t ebbi_callbacks_due;

static int add(const struct place *wanted, unsigned level)
{
	if (level < 1 || level > EBBI_PRESSURE_FULL)
		return -EINVAL;
	for (unsigned i = 0; i < EBBI_CALLBACKS_MOST; i++) {
		struct place *place = &places[i];
		uint32_t expected = 0;

		if (!ebbi_cas_acquire(&place->taken, &expected, 1))
			continue;
		place->callback = wanted->callback;
		place->event = wanted->event;
		ebbi_store_relaxed(&place->due, 0);
		ebbi_store_release(&place->level, level);
		return 0;
	}
	return -ENOSPC;
}

static void give_up(struct place *place)
{
	ebbi_store_release(&place->level, 0);
	ebbi_store_release(&place->taken, 0);
}

int ebbi_callbacks_add(ebbi_callback *callback, unsigned level)
{
	struct place wanted = {.callback = callback};

	return callback != NULL ? add(&wanted, level) : -EINVAL;
}

int ebbi_callbacks_remove(ebbi_callback *callback)
{
	for (unsigned i = 0; i < EBBI_CALLBACKS_MOST; i++) {
		if (callback == NULL || ebbi_load_acquire(&places[i].level) == 0 || places[i].callback != callback)
			continue;
		give_up(&places[i]);
		return 0;
	}
	return -ENOENT;
}

int ebbi_callbacks_add_descriptor(unsigned level)
{
	struct place wanted = {.callback = NULL};
	int error;

	if (level < 1 || level > EBBI_PRESSURE_FULL)
		return -EINVAL;
	error = ebbi_event_open(&wanted.event);
	if (error != 0)
		return error;
	error = add(&wanted, level);
	if (error != 0)
		ebbi_event_close(&wanted.event);
	return error != 0 ? error : wanted.event.fd;
}

void ebbi_callbacks_note(unsigned before, unsigned pressure)
{
	for (unsigned i = 0; i < EBBI_CALLBACKS_MOST; i++) {
		struct place *place = &places[i];
		unsigned level = ebbi_load_acquire(&place->level);

		if (level == 0 || before >= level || pressure < level)
			continue;
		if (place->callback != NULL) {
			ebbi_store_relaxed(&place->due, 1);
			ebbi_store_relaxed(&ebbi_callbacks_due, 1);
		} else if (!ebbi_event_signal(&place->event)) {
			give_up(place);
		}
	}
}

bool ebbi_callbacks_call(unsigned pressure, bool all)
{
	uint32_t expected = 0;
	bool called = false;

	if (ebbi_thread_self.in_callback || !ebbi_cas_acquire(&calling, &expected, 1))
		return false;
	ebbi_thread_self.in_callback = true;
	ebbi_store_relaxed(&ebbi_callbacks_due, 0);
	for (unsigned i = 0; i < EBBI_CALLBACKS_MOST; i++) {
		struct place *place = &places[i];
		ebbi_callback *callback;

		if (ebbi_load_acquire(&place->level) == 0 || place->callback == NULL)
			continue;
		if (ebbi_exchange_relaxed(&place->due, 0) == 0 && !all)
			continue;
		callback = place->callback;
		callback(pressure);
		called = true;
	}
	ebbi_thread_self.in_callback = false;
	ebbi_store_release(&calling, 0);
	return called;
}

void ebbi_callbacks_forget(void)
{
	if (!ebbi_thread_self.in_callback)
		ebbi_store_relaxed(&calling, 0);
}
