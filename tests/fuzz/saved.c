/* The reader of saved results. */
#include "report/saved.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[SAVED_MESSAGE] = "";
	struct saved_run run;

	if (ebbi_saved_parse((const char *)bytes, size, "x", &run, message) != 0 && message[0] == 0)
		__builtin_trap();
	return 0;
}
