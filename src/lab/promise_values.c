#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/allocator.h"
#include "lab/promise_parts.h"
#include "lab/units.h"
#include "observe/text.h"

int ebbi_promise_wrong(const struct promise_reader *reader, const struct yaml_node *node, const char *format, ...)
{
	int length = snprintf(reader->message, LAB_MESSAGE, "%.300s:%u:%u: ", reader->promise->path, node->line,
			      node->column);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->message + length, LAB_MESSAGE - (size_t)length, format, arguments);
	va_end(arguments);
	/* What it quotes may be anything. */
	ebbi_text_clean(reader->message);
	return -EINVAL;
}

/* --- Values ------------------------------------------------------------------------------ */

const char *ebbi_promise_kind(const struct yaml_node *node)
{
	if (node->kind == YAML_LIST)
		return "a list";
	return node->kind == YAML_MAP ? "a mapping" : node->text[0] ? "a text" : "nothing";
}

/* A text that says something, or a complaint with an example. */
static int want_text(const struct promise_reader *reader, const char *name, const struct yaml_node *node,
		     const char *example)
{
	if (node->kind == YAML_TEXT && node->text[0])
		return 0;
	return ebbi_promise_wrong(reader, node, "%.80s is %s here: write %s", name, ebbi_promise_kind(node), example);
}

static int set_words(const struct promise_reader *reader, const struct promise_key *key, const struct yaml_node *node)
{
	char **words = reader->promise->command;
	size_t count = 0;

	if (node->kind != YAML_LIST) {
		int error = want_text(reader, key->path, node, "a command, or a list of words");

		/* Nobody writes to the words; argv's type is older than const. */
		words[0] = (char *)(uintptr_t) "/bin/sh";
		words[1] = (char *)(uintptr_t) "-c";
		words[2] = (char *)(uintptr_t)node->text;
		return error;
	}
	for (const struct yaml_node *word = node->first; word; word = word->next) {
		if (word->kind != YAML_TEXT)
			return ebbi_promise_wrong(reader, word, "a word of the command is %s: write a text",
						  ebbi_promise_kind(word));
		if (count == PROMISE_WORDS)
			return ebbi_promise_wrong(reader, word,
						  "the command has more than %d words: put them in a script",
						  PROMISE_WORDS);
		words[count++] = (char *)(uintptr_t)word->text;
	}
	if (count == 0 || words[0][0] == 0)
		return ebbi_promise_wrong(reader, node, "the command is empty: write what is to be run");
	return 0;
}

static int set_variables(const struct promise_reader *reader, const struct promise_key *key,
			 const struct yaml_node *node)
{
	struct promise_variables *variables = &reader->promise->environment;

	if (node->kind != YAML_MAP)
		return ebbi_promise_wrong(reader, node, "%s is %s here: write NAME: value, one a line", key->path,
					  ebbi_promise_kind(node));
	for (const struct yaml_node *name = node->first; name; name = name->next->next) {
		if (name->text[0] == 0 || strchr(name->text, '='))
			return ebbi_promise_wrong(reader, name,
						  "'%.60s' cannot be a variable's name: leave out the '='", name->text);
		if (name->next->kind != YAML_TEXT)
			return ebbi_promise_wrong(reader, name->next, "%.60s is %s here: write a text", name->text,
						  ebbi_promise_kind(name->next));
		if (variables->count == PROMISE_VARIABLES)
			return ebbi_promise_wrong(reader, name, "more than %d variables: set the others in a script",
						  PROMISE_VARIABLES);
		variables->items[variables->count].name = name->text;
		variables->items[variables->count++].value = name->next->text;
	}
	return 0;
}

static int parse_keep(const struct promise_reader *reader, const struct yaml_node *node, enum keep *ret_keep)
{
	int error = want_text(reader, "keep", node, "every or median");

	if (error != 0)
		return error;
	if (strcmp(node->text, "every") != 0 && strcmp(node->text, "median") != 0)
		return ebbi_promise_wrong(reader, node, "keep: '%.60s': write every or median", node->text);
	*ret_keep = node->text[0] == 'e' ? KEEP_EVERY : KEEP_MEDIAN;
	return 0;
}

static bool is_share(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= 3 && strcmp(text + digits, "%") == 0 && atoi(text) >= 1 && atoi(text) <= 100;
}

static int set_budget(const struct promise_reader *reader, const struct yaml_node *node)
{
	uint64_t bytes;

	if (strcmp(node->text, "auto") != 0 && !is_share(node->text) &&
	    (!ebbi_parse_size(node->text, &bytes) || bytes < 1048576))
		return ebbi_promise_wrong(
			reader, node,
			"budget: '%.60s': write a size of 1M or more, such as 256M, a share of the machine such as 50%%, or auto",
			node->text);
	reader->promise->budget = node->text;
	return 0;
}

/* --- Limits ------------------------------------------------------------------------------ */

/* "1.05x" */
static bool parse_factor(const char *text, struct promise_limit *limit)
{
	size_t length = strlen(text);
	char number[16];
	uint64_t billionths;

	if (length < 2 || length > sizeof(number) || text[length - 1] != 'x')
		return false;
	memcpy(number, text, length - 1);
	number[length - 1] = 0;
	/* As a time without a unit: a number with a fraction, and nothing else. */
	if (strspn(number, "0123456789.") != length - 1 || !ebbi_parse_time(number, &billionths) || billionths == 0)
		return false;
	limit->ratio = true;
	limit->value = (double)billionths / 1e9;
	return true;
}

static int parse_amount(const struct promise_reader *reader, const char *name, const struct yaml_node *node,
			enum promised_unit unit, struct promise_limit *limit)
{
	static const char *const examples[] = {
		[LIMIT_BYTES] =
			"a size such as 60M, 80% for a share of the budget, or 1.05x for a ratio to the baseline",
		[LIMIT_SECONDS] = "a time such as 2s, or 1.05x for a ratio to the baseline",
		[LIMIT_COUNT] = "a number such as 1000",
	};
	const char *example = examples[unit];
	int error = want_text(reader, name, node, example);
	uint64_t whole;

	if (error != 0)
		return error;
	limit->text = node->text;
	if (unit != LIMIT_COUNT && parse_factor(node->text, limit))
		return 0;
	if (unit == LIMIT_BYTES && is_share(node->text)) {
		limit->share = true;
		limit->value = atoi(node->text) / 100.0;
		return 0;
	}
	if (unit == LIMIT_SECONDS ? !ebbi_parse_time(node->text, &whole)
	    : unit == LIMIT_COUNT ? !ebbi_parse_count(node->text, 1, UINT64_MAX, &whole)
				  : !ebbi_parse_size(node->text, &whole))
		return ebbi_promise_wrong(reader, node, "%.80s: '%.60s': write %s", name, node->text, example);
	limit->value = unit == LIMIT_SECONDS ? (double)whole / 1e9 : (double)whole;
	return 0;
}

/* {most: 60M, keep: median} */
static int parse_limit_map(const struct promise_reader *reader, const char *name, const struct yaml_node *node,
			   enum promised_unit unit, struct promise_limit *limit)
{
	const struct yaml_node *most = NULL;
	int error = 0;

	for (const struct yaml_node *key = node->first; key && error == 0; key = key->next->next) {
		if (strcmp(key->text, "most") == 0) {
			most = key->next;
			error = parse_amount(reader, name, most, unit, limit);
		} else if (strcmp(key->text, "keep") == 0) {
			error = parse_keep(reader, key->next, &limit->keep);
		} else {
			error = ebbi_promise_wrong(reader, key, "unknown key '%.60s': a limit has most and keep",
						   key->text);
		}
	}
	if (error == 0 && !most)
		return ebbi_promise_wrong(reader, node, "%.80s has no most: write most: and the limit", name);
	return error;
}

static int add_limit(struct promise_reader *reader, enum promised figure, const struct yaml_node *key,
		     enum promised_unit unit)
{
	struct promise *promise = reader->promise;
	struct promise_limit *limit = &promise->limits[promise->limit_count];
	const struct yaml_node *value = key->next;

	if (promise->limit_count == PROMISE_LIMITS)
		return ebbi_promise_wrong(reader, key, "more than %d limits: split the promise", PROMISE_LIMITS);
	/* What was not said is set at the end, when the promise's own `keep` is known. */
	*limit = (struct promise_limit){.figure = figure,
					.account = figure == PROMISED_ACCOUNT ? key->text : NULL,
					.keep = (enum keep) - 1,
					.line = key->line,
					.column = key->column};
	promise->limit_count++;
	return value->kind == YAML_MAP ? parse_limit_map(reader, key->text, value, unit, limit)
				       : parse_amount(reader, key->text, value, unit, limit);
}

static int add_limits(struct promise_reader *reader, const struct yaml_node *node)
{
	int error = 0;

	if (node->kind != YAML_MAP)
		return ebbi_promise_wrong(reader, node, "accounts is %s here: write NAME: 20M, one a line",
					  ebbi_promise_kind(node));
	for (const struct yaml_node *name = node->first; name && error == 0; name = name->next->next) {
		if (name->text[0] == 0)
			return ebbi_promise_wrong(reader, name, "an account without a name: write NAME: 20M");
		error = add_limit(reader, PROMISED_ACCOUNT, name, LIMIT_BYTES);
	}
	return error;
}

/* --- Keys -------------------------------------------------------------------------------- */

static int set_number(const struct promise_reader *reader, const struct promise_key *key, const struct yaml_node *node)
{
	uint64_t *field = (uint64_t *)(void *)((char *)reader->promise + key->offset);
	uint64_t value;

	if (key->kind == KEY_COUNT) {
		if (!ebbi_parse_count(node->text, key->low, key->high, field))
			return ebbi_promise_wrong(reader, node, "%s: '%.60s': write a number from %llu to %llu",
						  key->path, node->text, (unsigned long long)key->low,
						  (unsigned long long)key->high);
		return 0;
	}
	if (!ebbi_parse_time(node->text, &value) || value < key->low || value > key->high)
		return ebbi_promise_wrong(reader, node, "%s: '%.60s': write a time such as 500ms, 5s or 2m, %gs to %gs",
					  key->path, node->text, (double)key->low / 1e9, (double)key->high / 1e9);
	*field = value;
	return 0;
}

static int set_text(const struct promise_reader *reader, const struct promise_key *key, const struct yaml_node *node)
{
	if (key->kind == KEY_CONF && (!strchr(node->text, ':') || node->text[0] == ':'))
		return ebbi_promise_wrong(
			reader, node, "conf: '%.60s': write KEY:VALUE in one word, such as delay:500ms", node->text);
	*(const char **)(void *)((char *)reader->promise + key->offset) = node->text;
	return 0;
}

int ebbi_promise_set(struct promise_reader *reader, const struct promise_key *key, const struct yaml_node *name)
{
	const struct yaml_node *node = name->next;
	int error;

	switch (key->kind) {
	case KEY_WORDS:
		return set_words(reader, key, node);
	case KEY_VARIABLES:
		return set_variables(reader, key, node);
	case KEY_KEEP:
		return parse_keep(reader, node, &reader->promise->keep);
	case KEY_LIMIT:
		return add_limit(reader, (enum promised)key->offset, name, key->unit);
	case KEY_LIMITS:
		return add_limits(reader, node);
	default:
		break;
	}
	error = want_text(reader, key->path, node,
			  key->kind == KEY_TIME    ? "a time such as 5s"
			  : key->kind == KEY_COUNT ? "a number"
			  : key->kind == KEY_CONF  ? "KEY:VALUE in one word, such as delay:500ms"
						   : "a text");
	if (error != 0)
		return error;
	if (key->kind == KEY_BUDGET)
		return set_budget(reader, node);
	return key->kind == KEY_TIME || key->kind == KEY_COUNT ? set_number(reader, key, node)
							       : set_text(reader, key, node);
}
