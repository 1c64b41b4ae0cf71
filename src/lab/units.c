#include "lab/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A number without sign, in decimal: strtod would also take hexadecimal, "inf" and exponents. */
static bool number(const char *text, double *ret_value, const char **ret_unit)
{
	size_t digits = strspn(text, "0123456789");
	size_t fraction = text[digits] == '.' ? 1 + strspn(text + digits + 1, "0123456789") : 0;
	char copy[32];

	if (digits == 0 || fraction == 1 || digits + fraction >= sizeof(copy))
		return false;
	memcpy(copy, text, digits + fraction);
	copy[digits + fraction] = 0;
	*ret_value = strtod(copy, NULL);
	*ret_unit = text + digits + fraction;
	return true;
}

bool ebbi_parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
	const char *unit;
	double value;

	if (!number(text, &value, &unit))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) != 0)
			continue;
		/* A month: nobody means more, and nanoseconds stay far from their end. */
		if (!(value * units[i].ns <= 30 * 86400e9))
			return false;
		*ret_ns = (uint64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

bool ebbi_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "KMGT";
	const char *unit, *letter;
	double value;

	if (!number(text, &value, &unit))
		return false;
	if (unit[0] == ' ')
		unit++;
	letter = unit[0] ? strchr(letters, unit[0] == 'k' ? 'K' : unit[0]) : NULL;
	if (letter) {
		value *= (double)(1ull << (10 * (letter - letters + 1)));
		unit++;
		if (unit[0] == 'i' && unit[1] == 'B')
			unit++;
	}
	if (strcmp(unit, "B") == 0)
		unit++;
	if (*unit || !(value <= 281474976710656.0))
		return false;
	*ret_bytes = (uint64_t)value;
	return true;
}

bool ebbi_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *ret_count)
{
	char *end;
	uint64_t value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end || errno != 0 || value < least || value > most)
		return false;
	*ret_count = value;
	return true;
}
