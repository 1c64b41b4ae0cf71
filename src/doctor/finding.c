#include <stdarg.h>
#include <stdio.h>

#include "doctor/rules.h"

const char *ebbi_amount(char *ret_text, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t unit = 0;

	while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(ret_text, AMOUNT_BYTES, "%.*f %s", value < 10 && unit > 0 ? 2 : 1, value, units[unit]);
	return ret_text;
}

struct finding *ebbi_find(struct verdict *verdict, enum code code, uint64_t bytes, bool certain, const char *format,
			  ...)
{
	/* The last place is written again and again when there is no more room. */
	struct finding *finding = &verdict->findings[verdict->count];
	va_list arguments;

	if (verdict->count + 1 < FINDINGS_MOST)
		verdict->count++;
	*finding = (struct finding){.code = code, .bytes = bytes, .certain = certain};
	va_start(arguments, format);
	vsnprintf(finding->says, sizeof(finding->says), format, arguments);
	va_end(arguments);
	return finding;
}

void ebbi_rests_on(const struct facts *facts, struct finding *finding, enum fact_id id)
{
	if (ebbi_known(facts, id) && finding->evidence_count < FINDING_EVIDENCE)
		finding->evidence[finding->evidence_count++] = id;
}

bool ebbi_found(const struct verdict *verdict, enum code code)
{
	for (size_t i = 0; i < verdict->count; i++) {
		if (verdict->findings[i].code == code)
			return true;
	}
	return false;
}
