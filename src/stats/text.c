#include "stats/snapshot.h"

#include "base/fmt.h"
#include "platform/report.h"

enum unit { BYTES, COUNT, PAGES, FLAGS };

static void print_figure(struct ebbi_fmt *text, const char *name, enum unit unit, uint64_t value, const char *help)
{
	size_t start = text->length;

	ebbi_fmt_text(text, "  ");
	ebbi_fmt_text(text, name);
	ebbi_fmt_pad(text, start, 22);
	if (unit == FLAGS)
		ebbi_fmt_hex(text, value);
	else
		ebbi_fmt_decimal_wide(text, value, 15);
	if (unit == BYTES) {
		ebbi_fmt_text(text, " = ");
		ebbi_fmt_mib(text, value);
		ebbi_fmt_text(text, " MiB");
	}
	ebbi_fmt_pad(text, start, 54);
	ebbi_fmt_text(text, "  ");
	ebbi_fmt_text(text, help);
	ebbi_fmt_char(text, '\n');
}

static void print_classes(struct ebbi_fmt *text, const struct ebb_snapshot *snapshot)
{
	ebbi_fmt_text(text, "  slot bytes      slabs       live     cached       free\n");
	for (unsigned i = 0; i < EBB_SNAPSHOT_CLASSES && snapshot->classes[i].size_bytes != 0; i++) {
		const struct ebb_class *at = &snapshot->classes[i];

		if (at->slabs == 0)
			continue;
		ebbi_fmt_decimal_wide(text, at->size_bytes, 12);
		ebbi_fmt_decimal_wide(text, at->slabs, 11);
		ebbi_fmt_decimal_wide(text, at->live_slots, 11);
		ebbi_fmt_decimal_wide(text, at->cached_slots, 11);
		ebbi_fmt_decimal_wide(text, at->free_slots, 11);
		ebbi_fmt_char(text, '\n');
	}
}

void ebbi_snapshot_print(const struct ebb_snapshot *snapshot)
{
	char buffer[8192];
	struct ebbi_fmt text = ebbi_fmt_into(buffer, sizeof(buffer));

	ebbi_fmt_text(&text, "ebb: statistics (ebb " EBB_VERSION ")\n");
#define EBB_STAT(name, unit, help) print_figure(&text, #name, unit, snapshot->name, help);
#include <ebb/stats.def>
#undef EBB_STAT
	print_classes(&text, snapshot);
	ebbi_report_write(text.text, text.length);
}
