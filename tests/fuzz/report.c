/* A result of any kind, and every way to show it. */
#include "report/bundle.h"

#include <stdint.h>
#include <string.h>

#include "report/document.h"
#include "report/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static FILE *nowhere;

static void show(const struct bundle *bundle, const json_t *report)
{
	const struct style plain = {"", "", "", "", "", false};

	ebbi_document_text(nowhere, bundle, report, &plain, /* exact= */ false);
	ebbi_document_markdown(nowhere, report, /* exact= */ true);
	ebbi_document_csv(nowhere, report);
	ebbi_page(nowhere, report, /* exact_bytes= */ false);
	rewind(nowhere);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char message[SAVED_MESSAGE] = "";
	struct bundle bundle = {0};
	json_t *document = NULL, *report;
	int error = ebbi_saved_document((const char *)bytes, size, "x", &document, message);

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	if (error == 0)
		error = ebbi_bundle_add_document(&bundle, document, "x", message);
	if (error != 0 && message[0] == 0)
		__builtin_trap();
	report = bundle.sources ? ebbi_bundle_json(&bundle) : NULL;
	if (report && nowhere)
		show(&bundle, report);
	json_decref(report);
	json_decref(document);
	ebbi_bundle_free(&bundle);
	return 0;
}
