/*
 * event.h: an eventfd(2) that the program holds and the allocator signals.
 *
 * Owns: struct ebbi_event. Never: allocates, touches errno, writes into a descriptor that is not the one it made.
 * Threading: any thread. Errors: negative errno; false.
 *
 * The descriptor is the program's to close, and another may get its number then: so each signal first compares the kernel's
 * id of the eventfd (/proc/self/fdinfo). Where /proc is missing a signal goes by the number alone.
 */
#ifndef EBBI_PLATFORM_EVENT_H
#define EBBI_PLATFORM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct ebbi_event {
	int fd;
	uint64_t id; /* 0: unknown */
};

/* Not blocking, closed by exec. */
int ebbi_event_open(struct ebbi_event *ret_event);

/* One that nobody was told of. */
void ebbi_event_close(const struct ebbi_event *event);

/* Make it readable. False: it was closed. */
bool ebbi_event_signal(const struct ebbi_event *event);

#endif
