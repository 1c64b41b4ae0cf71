/* A saved result of ebb run as ebb doctor reads it: whatever is in it, facts come of it and a verdict, or a line. */
#include <jansson.h>
#include <string.h>

#include "doctor/files.h"
#include "doctor/result_file.h"
#include "doctor/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct facts facts;
	static struct verdict verdict;
	char message[FACTS_MESSAGE] = "";
	json_t *document = json_loadb((const char *)bytes, size, 0, NULL);

	if (!document)
		return 0;
	memset(&facts, 0, sizeof(facts));
	if (ebbi_facts_from_run(&facts, document, "input", message) != 0) {
		if (message[0] == 0)
			__builtin_trap();
	} else {
		ebbi_facts_derive(&facts);
		ebbi_verdict_make(&facts, &verdict);
		if (verdict.count == 0)
			__builtin_trap();
	}
	json_decref(document);
	return 0;
}
