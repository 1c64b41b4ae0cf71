/*
 * What ebb doctor reads from a directory, and the verdict on whatever came of it.
 *
 * The input is several files: a line "=== NAME" begins one. What is refused ends the reading; what was read before is
 * judged all the same, as facts come from loaders one after another.
 */
#include <string.h>

#include "doctor/facts.h"
#include "doctor/files.h"
#include "doctor/verdict.h"
#include "observe/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct facts facts;
static struct verdict verdict, again;

static const char *name_of(const struct text *line)
{
	struct text rest = *line;
	const char *name;

	if (!ebbi_text_skip(&rest, "=== "))
		return NULL;
	for (size_t i = 0; (name = ebbi_facts_file_name(i)) != NULL; i++) {
		if (strlen(name) == ebbi_text_length(&rest) && memcmp(name, rest.at, strlen(name)) == 0)
			return name;
	}
	return NULL;
}

static void read_all(const char *bytes, size_t size)
{
	struct text text = ebbi_text(bytes, size), line;
	char message[FACTS_MESSAGE];
	const char *name = NULL, *begin = bytes;

	while (ebbi_text_line(&text, &line)) {
		const char *next = name_of(&line);

		if (!next)
			continue;
		if (name && ebbi_facts_from_text(&facts, name, begin, (size_t)(line.at - begin), message) != 0)
			return;
		name = next;
		begin = text.at;
	}
	if (name)
		(void)ebbi_facts_from_text(&facts, name, begin, (size_t)(text.end - begin), message);
}

/* Nobody is blamed for what nobody told. */
static void check_finding(const struct finding *finding)
{
	if (finding->code >= CODE_COUNT || !memchr(finding->says, 0, sizeof(finding->says)) || finding->says[0] == 0 ||
	    finding->evidence_count > FINDING_EVIDENCE)
		__builtin_trap();
	for (size_t i = 0; i < finding->evidence_count; i++) {
		if (finding->evidence[i] >= FACT_COUNT || !ebbi_known(&facts, finding->evidence[i]))
			__builtin_trap();
	}
	if (finding->evidence_count == 0 && facts.tried_count == 0 && finding->code != CODE_UNKNOWN)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	memset(&facts, 0, sizeof(facts));
	read_all((const char *)bytes, size);
	ebbi_facts_derive(&facts);
	ebbi_verdict_make(&facts, &verdict);
	ebbi_verdict_make(&facts, &again);
	if (verdict.count == 0 || verdict.count > FINDINGS_MOST || verdict.count != again.count)
		__builtin_trap();
	for (size_t i = 0; i < verdict.count; i++) {
		check_finding(&verdict.findings[i]);
		if (verdict.findings[i].code != again.findings[i].code)
			__builtin_trap();
	}
	if (verdict.findings[0].code == CODE_UNKNOWN && verdict.next[0] == 0)
		__builtin_trap();
	return 0;
}
