#include "cli/variants.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct variants *variants, const char *name, size_t length, struct variant **ret_variant, char *message)
{
	struct variant *variant;

	if (length == 0 || length >= sizeof(variant->name)) {
		snprintf(message, LAB_MESSAGE, "a variant's name has 1 to %zu characters: '%.*s' has not",
			 sizeof(variant->name) - 1, (int)(length < 100 ? length : 100), name);
		return -EINVAL;
	}
	for (size_t i = 0; i < variants->count; i++) {
		if (strlen(variants->list[i].name) == length && memcmp(variants->list[i].name, name, length) == 0) {
			snprintf(message, LAB_MESSAGE, "two variants are named '%.*s': give them other names",
				 (int)length, name);
			return -EINVAL;
		}
	}
	if (variants->count == VARIANTS_MOST) {
		snprintf(message, LAB_MESSAGE, "more than %d variants: compare fewer at a time", VARIANTS_MOST);
		return -EINVAL;
	}
	variant = &variants->list[variants->count];
	memcpy(variant->name, name, length);
	variant->name[length] = 0;
	*ret_variant = variant;
	return 0;
}

static int set_allocator(struct variant *variant, const char *name, char *message)
{
	int error = ebbi_allocator_find(name, &variant->allocator, message);

	return error != 0 ? error
			  : ebbi_allocator_environment(&variant->allocator, NULL, &variant->environment, message);
}

static int add_allocator(struct variants *variants, const char *name, char *message)
{
	struct variant *variant;
	const char *slash = strrchr(name, '/');
	const char *shown = slash ? slash + 1 : name;
	int error = add(variants, shown, strlen(shown), &variant, message);

	if (error == 0)
		error = set_allocator(variant, name, message);
	variants->count += error == 0;
	return error;
}

/* All that are installed, glibc first: the one that is there without doing anything. */
static int add_installed(struct variants *variants, char *message)
{
	static struct allocator found;
	const char *name;
	int error = add_allocator(variants, "glibc", message);

	for (size_t i = 0; error == 0 && (name = ebbi_allocator_known(i)) != NULL; i++) {
		if (strcmp(name, "glibc") != 0 && ebbi_allocator_find(name, &found, message) == 0)
			error = add_allocator(variants, name, message);
	}
	return error;
}

static int add_allocators(struct variants *variants, const char *list, char *message)
{
	char copy[4096];
	char *save = NULL;
	int error = 0;

	if (strcmp(list, "auto") == 0)
		return add_installed(variants, message);
	if (snprintf(copy, sizeof(copy), "%s", list) >= (int)sizeof(copy)) {
		snprintf(message, LAB_MESSAGE, "--allocators: too long");
		return -EINVAL;
	}
	for (char *name = strtok_r(copy, ",", &save); name && error == 0; name = strtok_r(NULL, ",", &save))
		error = add_allocator(variants, name, message);
	return error;
}

/* How many bytes of NAME=... the name has; 0 when it is none. */
static size_t variable_length(const char *text)
{
	size_t length = 0;

	while (isalpha((unsigned char)text[length]) || text[length] == '_' ||
	       (length > 0 && isdigit((unsigned char)text[length])))
		length++;
	return text[length] == '=' ? length : 0;
}

/* The end of a value: a comma behind which another NAME= comes. MALLOC_CONF has commas of its own. */
static char *value_end(char *value)
{
	char *end = strchr(value, ',');

	while (end && variable_length(end + 1) == 0)
		end = strchr(end + 1, ',');
	return end ? end : value + strlen(value);
}

static int set_variables(struct variant *variant, char *at, char *message)
{
	while (*at) {
		size_t length = variable_length(at);
		char *end = value_end(at);
		bool more = *end == ',';
		int error;

		if (length == 0) {
			snprintf(message, LAB_MESSAGE, "--variant %s: '%.200s' is no VARIABLE=VALUE", variant->name,
				 at);
			return -EINVAL;
		}
		at[length] = 0;
		*end = 0;
		error = ebbi_environment_set(&variant->environment, at, at + length + 1);
		if (error != 0) {
			snprintf(message, LAB_MESSAGE, "--variant %s: too many variables, or too long", variant->name);
			return -EINVAL;
		}
		at = end + more;
	}
	return 0;
}

/* NAME:[ALLOCATOR,]VARIABLE=VALUE,... */
static int add_variant(struct variants *variants, const char *text, char *message)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	char *copy = strdup(colon ? colon + 1 : "");
	char *variables = copy;
	const char *allocator = "glibc";
	struct variant *variant;
	int error = copy ? add(variants, text, length, &variant, message) : -ENOMEM;

	if (error == 0 && variables[0] && variable_length(variables) == 0) {
		allocator = variables;
		variables += strcspn(variables, ",");
		if (*variables == ',')
			*variables++ = 0;
	}
	if (error == 0)
		error = set_allocator(variant, allocator, message);
	if (error == 0)
		error = set_variables(variant, variables, message);
	variants->count += error == 0;
	free(copy);
	return error;
}

int ebbi_variants_words(const char *command, const char *what, wordexp_t *ret_words, char *ret_message)
{
	int error = wordexp(command, ret_words, WRDE_NOCMD);

	if (error == 0 && ret_words->we_wordc > 0)
		return 0;
	if (error == 0 || error == WRDE_NOSPACE)
		wordfree(ret_words);
	ret_words->we_wordv = NULL;
	snprintf(ret_message, LAB_MESSAGE,
		 "%.100s '%.300s': %s: it is a command and its arguments; what needs a shell goes into a script", what,
		 command,
		 error == WRDE_BADCHAR  ? "has one of | & ; < > ( ) { }"
		 : error == WRDE_CMDSUB ? "has a command in it"
		 : error == 0           ? "is empty"
					: "has a quote that does not end");
	return -EINVAL;
}

/* NAME=COMMAND */
static int add_command(struct variants *variants, const char *text, char *message)
{
	const char *equals = strchr(text, '=');
	struct variant *variant;
	int error;

	if (!equals) {
		snprintf(message, LAB_MESSAGE, "--variant-command '%.300s': write NAME=COMMAND", text);
		return -EINVAL;
	}
	error = add(variants, text, (size_t)(equals - text), &variant, message);
	if (error == 0)
		error = ebbi_variants_words(equals + 1, "--variant-command", &variant->words, message);
	if (error != 0)
		return error;
	variant->argv = variant->words.we_wordv;
	error = set_allocator(variant, "glibc", message);
	if (error != 0)
		wordfree(&variant->words);
	variants->count += error == 0;
	return error;
}

/* The command behind --, beside others with a command of their own. */
static int add_plain(struct variants *variants, char **command, char *message)
{
	const char *slash = strrchr(command[0], '/');
	const char *name = slash ? slash + 1 : command[0];
	struct variant *variant;
	int error = add(variants, name, strlen(name), &variant, message);

	if (error == 0)
		error = set_allocator(variant, "glibc", message);
	variants->count += error == 0;
	return error;
}

static int read_all(const struct compare_options *options, char **command, struct variants *variants, char *message)
{
	bool named = options->variant.count > 0 || options->variant_command.count > 0;
	int error = 0;

	if (options->allocators || !named)
		error = add_allocators(variants, options->allocators ? options->allocators : "auto", message);
	else if (options->variant.count == 0 && command[0])
		error = add_plain(variants, command, message);
	for (size_t i = 0; i < options->variant.count && error == 0; i++)
		error = add_variant(variants, options->variant.items[i], message);
	for (size_t i = 0; i < options->variant_command.count && error == 0; i++)
		error = add_command(variants, options->variant_command.items[i], message);
	if (error != 0)
		return error;
	for (size_t i = 0; i < variants->count; i++) {
		struct variant *variant = &variants->list[i];

		if (!variant->argv && !command[0]) {
			snprintf(message, LAB_MESSAGE, "no command: ebb compare [OPTION...] -- COMMAND [ARGUMENT...]");
			return -EINVAL;
		}
		if (!variant->argv)
			variant->argv = command;
	}
	if (variants->count < 2) {
		snprintf(
			message, LAB_MESSAGE,
			"one variant (%s) is nothing to compare: give two or more with --allocators, --variant or --variant-command",
			variants->list[0].name);
		return -EINVAL;
	}
	return 0;
}

int ebbi_variants_read(const struct compare_options *options, char **command, struct variants *ret_variants,
		       char *ret_message)
{
	int error;

	ret_variants->count = 0;
	error = read_all(options, command, ret_variants, ret_message);
	if (error != 0)
		ebbi_variants_free(ret_variants);
	return error;
}

void ebbi_variants_free(struct variants *variants)
{
	for (size_t i = 0; i < variants->count; i++) {
		if (variants->list[i].words.we_wordv)
			wordfree(&variants->list[i].words);
	}
	variants->count = 0;
}
