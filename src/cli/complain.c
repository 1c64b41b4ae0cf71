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

int ebbi_cli_print_json(json_t *document)
{
	char *text = ebbi_json_text(document);

	if (text)
		fputs(text, stdout);
	else
		ebbi_cli_complain("out of memory");
	json_decref(document);
	free(text);
	return text ? 0 : EXIT_NOT_MEASURED;
}
