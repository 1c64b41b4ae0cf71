/*
 * options.h: the verbs and flags of flags.def as tables, and the one parser for all of them.
 *
 * Owns: nothing; strings in a parsed struct point into argv. Pure but for that.
 * Threading: any. Errors: -EINVAL with one line that names the argument and the remedy.
 * Invariant: flags end at "--"; those of a verb that takes a command, at the first argument that is none. A flag
 * given twice counts as given last, unless it is a LIST. A name of one letter is written with one dash.
 */
#ifndef EBBI_CLI_OPTIONS_H
#define EBBI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab/units.h"

#define OPTIONS_MESSAGE 1024

typedef const char *ebbi_option_TEXT;
typedef uint64_t ebbi_option_TIME;
typedef bool ebbi_option_SWITCH;
#define OPTION_LIST_MOST 8
struct option_list {
	size_t count;
	const char *items[OPTION_LIST_MOST];
};
#define ebbi_option_LIST struct option_list

struct run_options {
#define EBB_FLAG_run(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_run
};

struct watch_options {
#define EBB_FLAG_watch(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_watch
};

struct doctor_options {
#define EBB_FLAG_doctor(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_doctor
};

struct profile_options {
#define EBB_FLAG_profile(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_profile
};

struct compare_options {
#define EBB_FLAG_compare(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_compare
};

struct size_options {
#define EBB_FLAG_size(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_size
};

struct check_options {
#define EBB_FLAG_check(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_check
};

struct report_options {
#define EBB_FLAG_report(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_report
};

struct env_options {
#define EBB_FLAG_env(id, name, kind, value, preset, help, more) ebbi_option_##kind id;
#include "cli/flags.def"
#undef EBB_FLAG_env
};

enum flag_kind { FLAG_TEXT, FLAG_LIST, FLAG_TIME, FLAG_SWITCH };

struct flag {
	const char *name; /* without the dashes */
	enum flag_kind kind;
	const char *value; /* what the help calls its value; NULL for a switch */
	const char *preset;
	const char *help;
	const char *more;
	size_t offset; /* in the verb's struct */
};

struct verb {
	const char *name;
	const char *arguments;
	const char *summary;
	const struct flag *flags;
	size_t flag_count;
};

extern const struct verb ebbi_verbs[];
extern const size_t ebbi_verb_count;

/* What stands before the flag's name. */
const char *ebbi_flag_dashes(const struct flag *flag);

/* NULL when there is none of that name. */
const struct verb *ebbi_verb_find(const char *name);

/* The verb whose name is nearest to a mistyped one; NULL when none is near. */
const char *ebbi_verb_nearest(const char *name);

/*
 * Fills *ret_options (the verb's struct) with presets and what argv says. argv[0] is skipped.
 * *ret_rest is the first argument that is no flag's (where no command is taken, argv is put in order for that);
 * *ret_help is set by --help or -h.
 */
int ebbi_options_parse(const struct verb *verb, char **argv, void *ret_options, char ***ret_rest, bool *ret_help,
		       char *ret_message);

#endif
