/* What a load prints, searched for the work it did: in one piece and in pieces cut where the input says. */
#include "lab/workscan.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct workscan scanned(const char *text, size_t size, size_t piece)
{
	static struct workscan scan;

	if (ebbi_workscan_start(&scan, "served +([^ ]*)|n=([0-9]+)") != 0)
		__builtin_trap();
	for (size_t at = 0; at < size; at += piece)
		ebbi_workscan_feed(&scan, text + at, size - at < piece ? size - at : piece);
	ebbi_workscan_end(&scan);
	return scan;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t piece = size ? 1 + bytes[0] % 7 : 1;
	struct workscan whole = scanned((const char *)bytes, size, size ? size : 1);
	struct workscan pieces = scanned((const char *)bytes, size, piece);

	if (whole.found != pieces.found || (whole.found && whole.work != pieces.work))
		__builtin_trap();
	/* Neither negative nor beyond all numbers. */
	if (whole.found && !(whole.work >= 0 && whole.work < 1e309L))
		__builtin_trap();
	return 0;
}
