#include "config/config.h"

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/fmt.h"

#define COMPLAINTS_MOST 8u
#define SHOWN_MOST 40u /* of a key or value that is quoted in a complaint */

enum kind {
	KIND_BOOL,
	KIND_TIME,
	KIND_SIZE,
	KIND_BUDGET,
	KIND_CHOICE_hugepages,
	KIND_CHOICE_on_limit,
	KIND_CHOICE_check,
};

struct option {
	const char *name;
	size_t offset;
	enum kind kind;
	uint64_t standard;
	uint64_t min;
	uint64_t max;
};

static const struct option options[] = {
#define EBB_OPTION(name, kind, standard, min, max, help) \
	{#name, offsetof(struct ebbi_config, name), KIND_##kind, standard, min, max},
#include "config/options.def"
#undef EBB_OPTION
};

#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

/* A word with its meaning; `kind` says for which options. */
struct word {
	const char *text;
	uint64_t value;
	enum kind kind;
};

static const struct word words[] = {
	{"1", 1, KIND_BOOL},          {"true", 1, KIND_BOOL},        {"on", 1, KIND_BOOL},
	{"yes", 1, KIND_BOOL},        {"0", 0, KIND_BOOL},           {"false", 0, KIND_BOOL},
	{"off", 0, KIND_BOOL},        {"no", 0, KIND_BOOL},          {"", 1, KIND_TIME},
	{"ns", 1, KIND_TIME},         {"us", 1000, KIND_TIME},       {"ms", 1000000, KIND_TIME},
	{"s", 1000000000, KIND_TIME}, {"m", 60000000000, KIND_TIME}, {"", 1, KIND_SIZE},
	{"K", 1u << 10, KIND_SIZE},   {"M", 1u << 20, KIND_SIZE},    {"G", 1u << 30, KIND_SIZE},
#define EBB_OPTION(name, kind, standard, min, max, help)
#define EBB_CHOICE(name, text, value) {#text, value, KIND_CHOICE_##name},
#include "config/options.def"
#undef EBB_CHOICE
#undef EBB_OPTION
};

#define WORD_COUNT (sizeof(words) / sizeof(words[0]))

/* A stretch of the text. */
struct span {
	const char *start;
	size_t length;
};

static struct span trim(struct span span)
{
	while (span.length > 0 && (*span.start == ' ' || *span.start == '\t')) {
		span.start++;
		span.length--;
	}
	while (span.length > 0 && (span.start[span.length - 1] == ' ' || span.start[span.length - 1] == '\t'))
		span.length--;
	return span;
}

static bool equals(struct span span, const char *text)
{
	return strlen(text) == span.length && memcmp(span.start, text, span.length) == 0;
}

static const struct word *find_word(enum kind kind, struct span span)
{
	for (size_t i = 0; i < WORD_COUNT; i++)
		if (words[i].kind == kind && equals(span, words[i].text))
			return &words[i];
	return NULL;
}

/* Digits and a unit. False when it is not that, or does not fit 64 bits. */
static bool parse_number(enum kind kind, struct span span, uint64_t *ret_value)
{
	const struct word *unit;
	uint64_t value = 0;
	size_t digits = 0;

	for (; digits < span.length && span.start[digits] >= '0' && span.start[digits] <= '9'; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(span.start[digits] - '0'), &value))
			return false;
	unit = find_word(kind, (struct span){span.start + digits, span.length - digits});
	if (digits == 0 || unit == NULL)
		return false;
	/* "delay:5" could be taken for anything: a time other than 0 needs its unit. */
	if (kind == KIND_TIME && unit->text[0] == '\0' && value != 0)
		return false;
	return !__builtin_mul_overflow(value, unit->value, ret_value);
}

/* "auto", "50%", or a size; "0" is none. */
static bool parse_budget(const struct option *option, struct span span, uint64_t *ret_value)
{
	struct span number = {span.start, span.length - (span.length > 0)};

	if (equals(span, "auto")) {
		*ret_value = EBB_BUDGET_AUTO;
		return true;
	}
	if (span.length > 0 && span.start[span.length - 1] == '%') {
		if (!parse_number(KIND_SIZE, number, ret_value) || *ret_value < 1 || *ret_value > 100)
			return false;
		*ret_value |= EBB_BUDGET_SHARE;
		return true;
	}
	return parse_number(KIND_SIZE, span, ret_value) &&
	       (*ret_value == 0 || (*ret_value >= option->min && *ret_value <= option->max));
}

static bool parse_value(const struct option *option, struct span span, uint64_t *ret_value)
{
	const struct word *word;

	if (option->kind == KIND_TIME || option->kind == KIND_SIZE)
		return parse_number(option->kind, span, ret_value) && *ret_value >= option->min &&
		       *ret_value <= option->max;
	if (option->kind == KIND_BUDGET)
		return parse_budget(option, span, ret_value);
	word = find_word(option->kind, span);
	if (word == NULL)
		return false;
	*ret_value = word->value;
	return true;
}

static void quote(struct ebbi_fmt *line, struct span span)
{
	ebbi_fmt_char(line, '\'');
	ebbi_fmt_foreign(line, span.start, ebbi_min_size(span.length, SHOWN_MOST));
	ebbi_fmt_text(line, span.length > SHOWN_MOST ? "...'" : "'");
}

static void say_expected(struct ebbi_fmt *line, const struct option *option)
{
	const char *between = "";

	if (option->kind == KIND_TIME || option->kind == KIND_SIZE) {
		ebbi_fmt_text(line, option->kind == KIND_TIME ? "a time such as 0, 100ms or 2s"
							      : "a size such as 64K or 16M");
		return;
	}
	if (option->kind == KIND_BUDGET) {
		ebbi_fmt_text(line, "a size of 1M or more such as 256M, a share such as 50%, auto or 0");
		return;
	}
	ebbi_fmt_text(line, "one of ");
	for (size_t i = 0; i < WORD_COUNT; i++) {
		if (words[i].kind != option->kind)
			continue;
		ebbi_fmt_text(line, between);
		ebbi_fmt_text(line, words[i].text);
		between = ", ";
	}
}

static void complain_value(ebbi_config_complain *complain, const struct option *option, struct span value)
{
	char text[320];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_text(&line, "EBB_CONF: ");
	ebbi_fmt_text(&line, option->name);
	ebbi_fmt_text(&line, " cannot be ");
	quote(&line, value);
	ebbi_fmt_text(&line, "; expected ");
	say_expected(&line, option);
	ebbi_fmt_text(&line, "; the default is used");
	complain(line.text, line.length);
}

static void complain_key(ebbi_config_complain *complain, struct span key)
{
	char text[320];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text));

	ebbi_fmt_text(&line, "EBB_CONF: unknown key ");
	quote(&line, key);
	ebbi_fmt_text(&line, " is ignored; known: ");
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		ebbi_fmt_text(&line, i == 0 ? "" : ", ");
		ebbi_fmt_text(&line, options[i].name);
	}
	complain(line.text, line.length);
}

/* One "key:value", or the key of a BOOL alone. True when there was something to complain about. */
static bool parse_item(struct ebbi_config *config, struct span item, ebbi_config_complain *complain)
{
	const char *colon = memchr(item.start, ':', item.length);
	struct span key = item;
	struct span value = {item.start + item.length, 0};
	uint64_t parsed;

	if (colon != NULL) {
		key.length = (size_t)(colon - item.start);
		value = (struct span){colon + 1, item.length - key.length - 1};
	}
	key = trim(key);
	value = trim(value);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!equals(key, options[i].name))
			continue;
		if (colon == NULL && options[i].kind == KIND_BOOL)
			value = (struct span){"1", 1};
		if (!parse_value(&options[i], value, &parsed)) {
			complain_value(complain, &options[i], value);
			return true;
		}
		memcpy((char *)config + options[i].offset, &parsed, sizeof(parsed));
		return false;
	}
	complain_key(complain, key);
	return true;
}

void ebbi_config_defaults(struct ebbi_config *ret_config)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		memcpy((char *)ret_config + options[i].offset, &options[i].standard, sizeof(uint64_t));
}

void ebbi_config_parse(struct ebbi_config *config, const char *text, ebbi_config_complain *complain)
{
	static const char more[] = "EBB_CONF: more of it is wrong; the rest is ignored";
	unsigned complaints = 0;

	while (text != NULL && *text != '\0') {
		size_t length = strcspn(text, ",");
		struct span item = trim((struct span){text, length});

		if (item.length > 0)
			complaints += parse_item(config, item, complain);
		if (complaints == COMPLAINTS_MOST) {
			complain(more, sizeof(more) - 1);
			return;
		}
		text += length;
		if (*text == ',')
			text++;
	}
}
