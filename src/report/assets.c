#include "report/assets.h"

#include <string.h>

/* The assembler reads the files: no generator, and nothing to be parsed as C. */
#define ASSET(name, file) \
	__asm__(".pushsection .rodata.ebb_assets, \"a\"\n" \
		"ebbi_asset_" #name ":\n" \
		"\t.incbin \"" file "\"\n" \
		"ebbi_asset_" #name "_end:\n" \
		"\t.byte 0\n" \
		".hidden ebbi_asset_" #name "\n" \
		".globl ebbi_asset_" #name "\n" \
		".hidden ebbi_asset_" #name "_end\n" \
		".globl ebbi_asset_" #name "_end\n" \
		".popsection\n"); \
	extern const char ebbi_asset_##name[] __attribute__((visibility("hidden"))); \
	extern const char ebbi_asset_##name##_end[] __attribute__((visibility("hidden")))

ASSET(page, EBB_ASSET_DIR "/page.html");
ASSET(style, EBB_ASSET_DIR "/page.css");
ASSET(script, EBB_ASSET_DIR "/page.js");
ASSET(licence, EBB_ASSET_DIR "/chart-licence.txt");
ASSET(chart, EBB_CHART_JS);

struct asset ebbi_asset(const char *name)
{
	static const struct {
		const char *name;
		struct asset asset;
	} assets[] = {
		{"page.html", {ebbi_asset_page, ebbi_asset_page_end}},
		{"page.css", {ebbi_asset_style, ebbi_asset_style_end}},
		{"page.js", {ebbi_asset_script, ebbi_asset_script_end}},
		{"chart.js", {ebbi_asset_chart, ebbi_asset_chart_end}},
		{"licence.txt", {ebbi_asset_licence, ebbi_asset_licence_end}},
	};

	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].name, name) == 0)
			return assets[i].asset;
	}
	return (struct asset){NULL, NULL};
}
