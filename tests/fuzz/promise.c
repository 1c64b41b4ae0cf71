/* Promise files. */
#include "lab/promise.h"

#include <string.h>

#include "lab/allocator.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char message[LAB_MESSAGE];
	static struct promise promise;
	char path[4096];

	message[0] = 0;
	if (ebbi_promise_parse((const char *)bytes, size, "x", &promise, message) != 0) {
		if (message[0] != 'x' || strchr(message, '\n'))
			__builtin_trap();
		return 0;
	}
	/* What was understood keeps its invariants. */
	if (!promise.command[0] || promise.limit_count == 0 || promise.runs < 1)
		__builtin_trap();
	for (size_t i = 0; i < promise.limit_count; i++) {
		const struct promise_limit *limit = &promise.limits[i];

		if (!limit->text || !(limit->value >= 0) || (limit->ratio && !promise.baseline) || limit->line == 0 ||
		    (limit->keep != KEEP_EVERY && limit->keep != KEEP_MEDIAN))
			__builtin_trap();
	}
	ebbi_promise_path(&promise, promise.directory, path, sizeof(path));
	ebbi_promise_free(&promise);
	return 0;
}
