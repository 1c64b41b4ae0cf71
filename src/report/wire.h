/*
 * wire.h: messages in the wire format of protocol buffers, as far as pprof's profiles need it.
 *
 * Owns: the bytes; ebbi_wire_free releases them.
 * Threading: one thread. Errors: when memory was short, `failed` is set and stays set; adding is then without effect.
 * Invariant: a number of 0 is not written, as the format has it.
 */
#ifndef EBBI_REPORT_WIRE_H
#define EBBI_REPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
	uint8_t *bytes;
	size_t length;
	size_t room;
	bool failed;
};

void ebbi_wire_number(struct wire *wire, unsigned field, uint64_t value);
void ebbi_wire_bytes(struct wire *wire, unsigned field, const void *bytes, size_t length);
void ebbi_wire_text(struct wire *wire, unsigned field, const char *text);
void ebbi_wire_numbers(struct wire *wire, unsigned field, const uint64_t *values, size_t count);

/* A message within one. What was in `message` is gone afterwards; its room is kept for the next. */
void ebbi_wire_message(struct wire *wire, unsigned field, struct wire *message);

void ebbi_wire_free(struct wire *wire);

#endif
