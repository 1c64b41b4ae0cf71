#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

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
