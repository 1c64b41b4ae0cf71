#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "report/comparison.h"
#include "report/run_json.h"

static struct comparison comparison;

static int read_files(char **files)
{
	char message[SAVED_MESSAGE];

	if (!*files) {
		ebbi_cli_complain("no files: ebb report FILE..., made by ebb run --save FILE");
		return EXIT_USAGE;
	}
	for (; *files; files++) {
		int error = ebbi_comparison_add(&comparison, *files, message);

		if (error != 0) {
			ebbi_cli_complain("%s", message);
			return error == -EXDEV ? EXIT_NOT_COMPARABLE : EXIT_USAGE;
		}
	}
	return 0;
}

int ebbi_cli_report(char **argv)
{
	struct report_options options;
	char message[OPTIONS_MESSAGE];
	char **files;
	bool help;
	int code;

	if (ebbi_options_parse(ebbi_verb_find("report"), argv, &options, &files, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("report"));
		return ebbi_cli_flush();
	}
	code = read_files(files);
	if (code == 0 && options.json) {
		code = ebbi_cli_print_json(ebbi_comparison_json(&comparison));
	} else if (code == 0) {
		struct style style = ebbi_style_for(STDOUT_FILENO);

		ebbi_comparison_text(stdout, &comparison, &style, options.bytes);
	}
	ebbi_comparison_free(&comparison);
	return code ? code : ebbi_cli_flush();
}
