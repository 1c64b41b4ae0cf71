#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <ebb/ebb.h>

#include "cli/cli.h"

static int unknown_verb(const char *name)
{
	const char *nearest = ebbi_verb_nearest(name);

	if (nearest)
		ebbi_cli_complain("unknown verb '%.100s': did you mean ebb %s?", name, nearest);
	else
		ebbi_cli_complain("unknown verb '%.100s': see ebb --help", name);
	return EXIT_USAGE;
}

/* help [VERB] [--man]: --man prints the page's source, from which man/ is made. */
static int help(char **argv)
{
	const struct verb *verb = NULL;
	bool man = false;

	for (argv++; *argv; argv++) {
		if (strcmp(*argv, "--man") == 0) {
			man = true;
			continue;
		}
		verb = ebbi_verb_find(*argv);
		if (!verb)
			return unknown_verb(*argv);
	}
	if (man)
		ebbi_man(stdout, verb);
	else if (verb)
		ebbi_help_verb(stdout, verb);
	else
		ebbi_help_all(stdout);
	return ebbi_cli_flush();
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next file that is opened. */
static void keep_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* Weak: a unit test that links this layer brings a main of its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
	keep_standard_descriptors();
	if (argc < 2) {
		ebbi_help_all(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return help(argv + 1);
	if (strcmp(argv[1], "--version") == 0) {
		printf("ebb %s\n", EBB_VERSION);
		return ebbi_cli_flush();
	}
	if (strcmp(argv[1], "completion") == 0)
		return ebbi_cli_completion(argv + 1);
#define EBB_VERB(name, arguments, summary) \
	if (strcmp(argv[1], #name) == 0) \
		return ebbi_cli_##name(argv + 1);
#include "cli/flags.def"
#undef EBB_VERB
	return unknown_verb(argv[1]);
}
