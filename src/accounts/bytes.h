/*
 * bytes.h: reading the encoded numbers of unwind tables between two bounds.
 *
 * Owns: struct ebbi_bytes. Never: reads past the end: then `bad` is set and zeros come. Threading: one reader each.
 * Errors: `bad`, which stays.
 */
#ifndef EBBI_ACCOUNTS_BYTES_H
#define EBBI_ACCOUNTS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ebbi_bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline uint64_t ebbi_bytes_word(struct ebbi_bytes *bytes, unsigned size)
{
	uint64_t value = 0;

	if ((size_t)(bytes->end - bytes->at) < size) {
		bytes->bad = true;
		bytes->at = bytes->end;
		return 0;
	}
	memcpy(&value, bytes->at, size); /* both CPUs are little-endian */
	bytes->at += size;
	return value;
}

static inline int64_t ebbi_bytes_signed(struct ebbi_bytes *bytes, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(ebbi_bytes_word(bytes, size) << shift) >> shift;
}

/* A number in groups of 7 bits, the lowest first; `is_signed`: the highest bit of the last group is the sign. */
static inline uint64_t ebbi_bytes_leb(struct ebbi_bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	uint64_t byte;
	unsigned shift = 0;

	do {
		byte = ebbi_bytes_word(bytes, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0);
	if (is_signed && shift < 64 && (byte & 0x40) != 0)
		value |= UINT64_MAX << shift;
	return value;
}

static inline uint64_t ebbi_bytes_uleb(struct ebbi_bytes *bytes)
{
	return ebbi_bytes_leb(bytes, /* is_signed= */ false);
}

static inline int64_t ebbi_bytes_sleb(struct ebbi_bytes *bytes)
{
	return (int64_t)ebbi_bytes_leb(bytes, /* is_signed= */ true);
}

static inline void ebbi_bytes_skip(struct ebbi_bytes *bytes, uint64_t count)
{
	if ((uint64_t)(bytes->end - bytes->at) < count) {
		bytes->bad = true;
		count = (uint64_t)(bytes->end - bytes->at);
	}
	bytes->at += count;
}

#endif
