#include "report/wire.h"

#include <stdlib.h>
#include <string.h>

enum wire_type { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

/* Seven bits a byte. */
#define NUMBER_BYTES 10

static void append(struct wire *wire, const void *bytes, size_t length)
{
	if (wire->length + length > wire->room) {
		size_t room = 2 * (wire->length + length) + 64;
		uint8_t *larger = realloc(wire->bytes, room);

		if (!larger) {
			wire->failed = true;
			return;
		}
		wire->bytes = larger;
		wire->room = room;
	}
	if (length > 0)
		memcpy(wire->bytes + wire->length, bytes, length);
	wire->length += length;
}

static size_t encode(uint64_t value, uint8_t *ret_bytes)
{
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		ret_bytes[length++] = (uint8_t)(value | 0x80);
	ret_bytes[length++] = (uint8_t)value;
	return length;
}

static void append_number(struct wire *wire, uint64_t value)
{
	uint8_t bytes[NUMBER_BYTES];
	size_t length = encode(value, bytes);

	append(wire, bytes, length);
}

static void append_key(struct wire *wire, unsigned field, enum wire_type type)
{
	append_number(wire, (uint64_t)field << 3 | type);
}

void ebbi_wire_number(struct wire *wire, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	append_key(wire, field, WIRE_NUMBER);
	append_number(wire, value);
}

void ebbi_wire_bytes(struct wire *wire, unsigned field, const void *bytes, size_t length)
{
	append_key(wire, field, WIRE_BYTES);
	append_number(wire, length);
	append(wire, bytes, length);
}

void ebbi_wire_text(struct wire *wire, unsigned field, const char *text)
{
	ebbi_wire_bytes(wire, field, text, strlen(text));
}

void ebbi_wire_numbers(struct wire *wire, unsigned field, const uint64_t *values, size_t count)
{
	uint8_t bytes[NUMBER_BYTES];
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += encode(values[i], bytes);
	append_key(wire, field, WIRE_BYTES);
	append_number(wire, length);
	for (size_t i = 0; i < count; i++)
		append_number(wire, values[i]);
}

void ebbi_wire_message(struct wire *wire, unsigned field, struct wire *message)
{
	if (message->failed)
		wire->failed = true;
	ebbi_wire_bytes(wire, field, message->bytes, message->length);
	message->length = 0;
}

void ebbi_wire_free(struct wire *wire)
{
	free(wire->bytes);
	*wire = (struct wire){0};
}
