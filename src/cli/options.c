#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/nearest.h"

#define FLAG_ROW(type, id, name, kind, value, preset, help, more) \
	{name, FLAG_##kind, value, preset, help, more, offsetof(struct type, id)},

static const struct flag run_flags[] = {
#define EBB_FLAG_run(id, name, kind, value, preset, help, more) \
	FLAG_ROW(run_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_run
};

static const struct flag watch_flags[] = {
#define EBB_FLAG_watch(id, name, kind, value, preset, help, more) \
	FLAG_ROW(watch_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_watch
};

static const struct flag doctor_flags[] = {
#define EBB_FLAG_doctor(id, name, kind, value, preset, help, more) \
	FLAG_ROW(doctor_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_doctor
};

static const struct flag profile_flags[] = {
#define EBB_FLAG_profile(id, name, kind, value, preset, help, more) \
	FLAG_ROW(profile_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_profile
};

static const struct flag compare_flags[] = {
#define EBB_FLAG_compare(id, name, kind, value, preset, help, more) \
	FLAG_ROW(compare_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_compare
};

static const struct flag size_flags[] = {
#define EBB_FLAG_size(id, name, kind, value, preset, help, more) \
	FLAG_ROW(size_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_size
};

static const struct flag check_flags[] = {
#define EBB_FLAG_check(id, name, kind, value, preset, help, more) \
	FLAG_ROW(check_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_check
};

static const struct flag report_flags[] = {
#define EBB_FLAG_report(id, name, kind, value, preset, help, more) \
	FLAG_ROW(report_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_report
};

static const struct flag env_flags[] = {
#define EBB_FLAG_env(id, name, kind, value, preset, help, more) \
	FLAG_ROW(env_options, id, name, kind, value, preset, help, more)
#include "cli/flags.def"
#undef EBB_FLAG_env
};

const struct verb ebbi_verbs[] = {
#define EBB_VERB(name, arguments, summary) \
	{#name, arguments, summary, name##_flags, sizeof(name##_flags) / sizeof(name##_flags[0])},
#include "cli/flags.def"
#undef EBB_VERB
};
const size_t ebbi_verb_count = sizeof(ebbi_verbs) / sizeof(ebbi_verbs[0]);

const struct verb *ebbi_verb_find(const char *name)
{
	for (size_t i = 0; i < ebbi_verb_count; i++) {
		if (strcmp(ebbi_verbs[i].name, name) == 0)
			return &ebbi_verbs[i];
	}
	return NULL;
}

/* --- What was meant ---------------------------------------------------------------------- */

const char *ebbi_verb_nearest(const char *name)
{
	struct nearest nearest = {.wanted = name, .most = 2};

	for (size_t i = 0; i < ebbi_verb_count; i++)
		ebbi_nearest_try(&nearest, ebbi_verbs[i].name);
	return nearest.found;
}

static const char *flag_nearest(const struct verb *verb, const char *name)
{
	struct nearest nearest = {.wanted = name, .most = 3};

	for (size_t i = 0; i < verb->flag_count; i++)
		ebbi_nearest_try(&nearest, verb->flags[i].name);
	return nearest.found;
}

const char *ebbi_flag_dashes(const struct flag *flag)
{
	return flag->name[1] ? "--" : "-";
}

/* --- Values ------------------------------------------------------------------------------ */

static int set_value(const struct flag *flag, const char *text, void *options, char *ret_message)
{
	void *field = (char *)options + flag->offset;

	switch (flag->kind) {
	case FLAG_TEXT:
		*(const char **)field = text;
		return 0;
	case FLAG_LIST: {
		struct option_list *list = field;

		if (list->count < OPTION_LIST_MOST) {
			list->items[list->count++] = text;
			return 0;
		}
		snprintf(ret_message, OPTIONS_MESSAGE, "--%s: %d times at most", flag->name, OPTION_LIST_MOST);
		break;
	}
	case FLAG_SWITCH:
		*(bool *)field = true;
		return 0;
	case FLAG_TIME:
		if (ebbi_parse_time(text, field))
			return 0;
		snprintf(ret_message, OPTIONS_MESSAGE, "%s%s '%.200s': write a time such as 500ms, 5s or 2m",
			 ebbi_flag_dashes(flag), flag->name, text);
		break;
	}
	return -EINVAL;
}

static int set_presets(const struct verb *verb, void *options, char *ret_message)
{
	int error = 0;

	for (size_t i = 0; i < verb->flag_count && error == 0; i++) {
		const struct flag *flag = &verb->flags[i];

		if (flag->kind == FLAG_SWITCH)
			*(bool *)((char *)options + flag->offset) = false;
		else if (flag->kind == FLAG_LIST)
			((struct option_list *)(void *)((char *)options + flag->offset))->count = 0;
		else if (flag->kind == FLAG_TEXT || flag->preset)
			error = set_value(flag, flag->preset, options, ret_message);
	}
	return error;
}

/* --- Arguments --------------------------------------------------------------------------- */

static const struct flag *find_flag(const struct verb *verb, const char *name, size_t length)
{
	for (size_t i = 0; i < verb->flag_count; i++) {
		if (strlen(verb->flags[i].name) == length && memcmp(verb->flags[i].name, name, length) == 0)
			return &verb->flags[i];
	}
	return NULL;
}

static int unknown_flag(const struct verb *verb, const char *argument, char *ret_message)
{
	char name[64];
	const char *nearest;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
	nearest = argument[1] == '-' ? flag_nearest(verb, name) : NULL;
	if (nearest)
		snprintf(ret_message, OPTIONS_MESSAGE, "unknown option %.200s: did you mean --%s?", argument, nearest);
	else
		snprintf(ret_message, OPTIONS_MESSAGE, "unknown option %.200s: see ebb %s --help", argument,
			 verb->name);
	return -EINVAL;
}

/* One "--name value" or "--name=value"; *argv is left at the last argument it took. */
static int parse_flag(const struct verb *verb, char ***argv, void *options, char *ret_message)
{
	const char *argument = **argv;
	const char *name = argument + (argument[1] == '-' ? 2 : 1);
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct flag *flag = (argument[1] == '-') == (length > 1) ? find_flag(verb, name, length) : NULL;
	const char *value = equals ? equals + 1 : NULL;

	if (!flag)
		return unknown_flag(verb, argument, ret_message);
	if (flag->kind == FLAG_SWITCH && value) {
		snprintf(ret_message, OPTIONS_MESSAGE, "%s%s takes no value", ebbi_flag_dashes(flag), flag->name);
		return -EINVAL;
	}
	if (flag->kind != FLAG_SWITCH && !value) {
		value = (*argv)[1];
		if (!value) {
			snprintf(ret_message, OPTIONS_MESSAGE, "%s%s needs a value: %s%s %s", ebbi_flag_dashes(flag),
				 flag->name, ebbi_flag_dashes(flag), flag->name, flag->value);
			return -EINVAL;
		}
		++*argv;
	}
	return set_value(flag, value, options, ret_message);
}

int ebbi_options_parse(const struct verb *verb, char **argv, void *ret_options, char ***ret_rest, bool *ret_help,
		       char *ret_message)
{
	int error = set_presets(verb, ret_options, ret_message);
	/* What belongs to a command is left alone; other operands may stand before flags. */
	bool command = strstr(verb->arguments, "COMMAND") != NULL;
	char **rest = argv + 1, **operand = rest;

	*ret_help = false;
	for (argv++; *argv && error == 0; argv++) {
		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		if ((*argv)[0] != '-' || (*argv)[1] == 0) {
			if (command)
				break;
			*operand++ = *argv;
			continue;
		}
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0) {
			*ret_help = true;
			return 0;
		}
		error = parse_flag(verb, &argv, ret_options, ret_message);
	}
	*ret_rest = command ? argv : rest;
	if (command)
		return error;
	while (*argv)
		*operand++ = *argv++;
	*operand = NULL;
	return error;
}
