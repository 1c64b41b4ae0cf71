#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "report/document.h"
#include "report/page.h"
#include "report/run_json.h"

static struct bundle bundle;

/* 0; EXIT_NOT_COMPARABLE after a line for the first that may not be compared, and the rest is read; or EXIT_USAGE. */
static int read_files(char **files)
{
	char message[SAVED_MESSAGE];
	int code = 0;

	if (!*files) {
		ebbi_cli_complain(
			"no files: ebb report RESULT..., made by --save of ebb run, compare, size, check or doctor");
		return EXIT_USAGE;
	}
	for (; *files; files++) {
		int error = ebbi_bundle_add(&bundle, *files, message);

		if (error == 0 || (error == -EXDEV && code != 0))
			continue;
		ebbi_cli_complain("%s", message);
		if (error != -EXDEV)
			return EXIT_USAGE;
		code = EXIT_NOT_COMPARABLE;
	}
	return code;
}

/* 0 or EXIT_NOT_MEASURED after a line. */
static int write_page(const char *path, const json_t *report, bool bytes)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	int error = stream ? 0 : -errno;

	if (stream) {
		ebbi_page(stream, report, bytes);
		error = ferror(stream) ? -ENOMEM : 0;
		error = fclose(stream) != 0 ? -errno : error;
	}
	if (error == 0)
		error = ebbi_save(path, text, length);
	free(text);
	if (error != 0)
		ebbi_cli_complain("--html %s: %s: the page was not written", path, strerror(-error));
	return error != 0 ? EXIT_NOT_MEASURED : 0;
}

static int deliver(const struct report_options *options)
{
	struct style style = ebbi_style_for(STDOUT_FILENO);
	json_t *report = ebbi_bundle_json(&bundle);
	int code = 0;

	if (!report) {
		ebbi_cli_complain("no memory");
		return EXIT_NOT_MEASURED;
	}
	if (options->html)
		code = write_page(options->html, report, options->bytes);
	if (options->markdown)
		ebbi_document_markdown(stdout, report, options->bytes);
	else if (options->csv)
		ebbi_document_csv(stdout, report);
	else if (options->json)
		return ebbi_cli_deliver_json(report, /* print= */ true, NULL) ? EXIT_NOT_MEASURED : code;
	else if (!options->html)
		ebbi_document_text(stdout, &bundle, report, &style, options->bytes);
	json_decref(report);
	return code;
}

int ebbi_cli_report(char **argv)
{
	struct report_options options;
	char message[OPTIONS_MESSAGE];
	char **files;
	bool help;
	int code, delivered = 0;

	if (ebbi_options_parse(ebbi_verb_find("report"), argv, &options, &files, &help, message) != 0) {
		ebbi_cli_complain("%s", message);
		return EXIT_USAGE;
	}
	if (help) {
		ebbi_help_verb(stdout, ebbi_verb_find("report"));
		return ebbi_cli_flush();
	}
	if (options.markdown + options.csv + options.json > 1) {
		ebbi_cli_complain("--markdown, --csv and --json exclude each other: give one");
		return EXIT_USAGE;
	}
	code = read_files(files);
	if (code != EXIT_USAGE)
		delivered = deliver(&options);
	if (delivered == 0 && code != EXIT_USAGE)
		delivered = ebbi_cli_flush();
	ebbi_bundle_free(&bundle);
	return code ? code : delivered;
}
