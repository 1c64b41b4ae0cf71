/* What `ebb watch` parses: smaps, stack pointers, ledgers' answers; and what a ledger is. */
#include <stdlib.h>
#include <string.h>

#include "observe/ledger.h"
#include "observe/smaps.h"
#include "observe/threads.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int see(void *context, const struct smaps_mapping *mapping)
{
	const struct smaps_parser *parser = context;
	const struct text *path = &mapping->map.path;

	if (path->at > path->end || path->at < parser->head || path->end > parser->head + sizeof(parser->head))
		__builtin_trap();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const ledgers[] = {"a=x", "a=http://h#a.0", "a=redis", "a=prometheus:h:1#m"};
	struct smaps_parser parser = {.each = see};
	struct text text = ebbi_text((const char *)bytes, size), line;
	char message[LEDGER_MESSAGE];
	struct ledger_plan plan;
	uint64_t value;
	char *copy;

	parser.context = &parser;
	while (ebbi_text_line(&text, &line))
		(void)ebbi_smaps_line(&parser, &line);
	(void)ebbi_smaps_end(&parser);
	(void)ebbi_parse_stack_pointer((const char *)bytes, size);
	for (size_t i = 0; i < sizeof(ledgers) / sizeof(ledgers[0]); i++) {
		if (ebbi_ledger_parse(ledgers[i], &plan, message) != 0)
			__builtin_trap();
		(void)ebbi_ledger_extract(&plan, (const char *)bytes, size, &value);
	}
	copy = strndup((const char *)bytes, size);
	if (copy)
		(void)ebbi_ledger_parse(copy, &plan, message);
	free(copy);
	return 0;
}
