#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "report/run_json.h"

void ebbi_cli_complain(const char *format, ...)
{
	char line[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *at = line; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	}
	fprintf(stderr, "ebb: %s\n", line);
}

int ebbi_cli_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	ebbi_cli_complain("stdout: %s", strerror(errno));
	return EXIT_NOT_MEASURED;
}

int ebbi_cli_deliver_json(json_t *document, bool print, const char *save)
{
	char *text = ebbi_json_text(document);
	int error = text ? 0 : -ENOMEM;

	if (error == 0 && print)
		fputs(text, stdout);
	if (error == 0 && save)
		error = ebbi_save(save, text, strlen(text));
	if (error != 0)
		ebbi_cli_complain("%s: %s: the result was not saved", save ? save : "JSON", strerror(-error));
	free(text);
	json_decref(document);
	return error != 0 ? EXIT_NOT_MEASURED : 0;
}
