/* The reader of saved results. */
#include "report/saved.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[SAVED_MESSAGE] = "";
	struct saved_run run;
	json_t *root = NULL;
	int error = ebbi_saved_document((const char *)bytes, size, "x", &root, message);

	if (error == 0)
		error = ebbi_saved_run(root, "x", &run, message);
	if (error != 0 && message[0] == 0)
		__builtin_trap();
	json_decref(root);
	return 0;
}
