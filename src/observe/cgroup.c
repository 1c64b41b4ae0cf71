#include "observe/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* v1 says "no limit" by the largest multiple of a page. */
#define NO_LIMIT ((uint64_t)1 << 60)

struct source {
	const char *file;
	const char *name; /* NULL: the file is one number */
	enum cgroup_figure id;
};

static const struct source sources[] = {
#define CGROUP_NUMBER(id, file) {file, NULL, CGROUP_##id},
#define CGROUP_LINE(id, file, name) {file, name, CGROUP_##id},
#include "observe/cgroup_figures.def"
#undef CGROUP_NUMBER
#undef CGROUP_LINE
};

#define SOURCES (sizeof(sources) / sizeof(sources[0]))

/* --- The path ------------------------------------------------------------------------------ */

static bool has_word(struct text list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list.at; at + length <= list.end; at++) {
		if (memcmp(at, word, length) == 0 && (at == list.at || at[-1] == ',') &&
		    (at + length == list.end || at[length] == ','))
			return true;
	}
	return false;
}

bool ebbi_parse_cgroup(const char *bytes, size_t length, bool *ret_v1, char *ret_path, size_t size)
{
	struct text text = ebbi_text(bytes, length);
	struct text line;
	bool found = false;

	while (ebbi_text_line(&text, &line)) {
		const char *first = memchr(line.at, ':', ebbi_text_length(&line));
		const char *second = first ? memchr(first + 1, ':', (size_t)(line.end - first - 1)) : NULL;
		struct text controllers, path;
		bool v1;

		if (!second)
			continue;
		controllers = (struct text){.at = first + 1, .end = second};
		path = (struct text){.at = second + 1, .end = line.end};
		v1 = has_word(controllers, "memory");
		/* The memory controller's own tree counts, if there is one. */
		if (!v1 && (found || controllers.at != controllers.end))
			continue;
		ebbi_text_copy(&path, ret_path, size);
		*ret_v1 = v1;
		found = true;
		if (v1)
			break;
	}
	return found;
}

/* ID PARENT DEVICE ROOT MOUNT OPTIONS [TAG...] - TYPE SOURCE OPTIONS */
bool ebbi_parse_cgroup_mount(const struct text *line, bool v1, char *ret_root, char *ret_mount, size_t size)
{
	struct text rest = *line;
	struct text words[6], type, from, options = {0};

	for (int i = 0; i < 6; i++) {
		if (!ebbi_text_word(&rest, &words[i]))
			return false;
	}
	do {
		if (!ebbi_text_word(&rest, &type))
			return false;
	} while (ebbi_text_length(&type) != 1 || *type.at != '-');
	if (!ebbi_text_word(&rest, &type) || !ebbi_text_word(&rest, &from))
		return false;
	(void)ebbi_text_word(&rest, &options);
	if (!ebbi_text_skip(&type, v1 ? "cgroup" : "cgroup2") || type.at != type.end)
		return false;
	if (v1 && (!options.at || !has_word(options, "memory")))
		return false;
	ebbi_text_copy(&words[3], ret_root, size);
	ebbi_text_copy(&words[4], ret_mount, size);
	return true;
}

/* --- The figures ---------------------------------------------------------------------------- */

const char *ebbi_cgroup_file(size_t index)
{
	for (size_t i = 0; i < SOURCES; i++) {
		/* Sources of one file stand together. */
		if (i > 0 && strcmp(sources[i].file, sources[i - 1].file) == 0)
			continue;
		if (index-- == 0)
			return sources[i].file;
	}
	return NULL;
}

static bool is_limit(enum cgroup_figure id)
{
	return id == CGROUP_LIMIT || id == CGROUP_HIGH || id == CGROUP_SWAP_LIMIT || id == CGROUP_BOTH_LIMIT;
}

static void learn(struct cgroup_memory *memory, enum cgroup_figure id, uint64_t value)
{
	if (memory->has[id] || (is_limit(id) && value >= NO_LIMIT))
		return;
	memory->has[id] = true;
	memory->value[id] = value;
}

/* A number, which the file or the line ends with. */
static bool whole_number(struct text text, uint64_t *ret_value)
{
	if (!ebbi_text_decimal(&text, ret_value))
		return false;
	ebbi_text_blanks(&text);
	return text.at == text.end || *text.at == '\n';
}

static int parse_number(struct cgroup_memory *memory, const struct source *source, struct text text)
{
	struct text word = text;
	uint64_t value;

	if (ebbi_text_skip(&word, "max") && (word.at == word.end || *word.at == '\n'))
		return is_limit(source->id) ? 0 : -EINVAL;
	if (!whole_number(text, &value))
		return -EINVAL;
	learn(memory, source->id, value);
	return 0;
}

/* *ret_found when the line is there. */
static int parse_line(struct cgroup_memory *memory, const struct source *source, struct text text, bool *ret_found)
{
	struct text line;
	uint64_t value;

	while (ebbi_text_line(&text, &line)) {
		if (!ebbi_text_skip(&line, source->name) || !ebbi_text_skip(&line, " "))
			continue;
		if (!whole_number(line, &value))
			return -EINVAL;
		*ret_found = true;
		learn(memory, source->id, value);
		break;
	}
	return 0;
}

int ebbi_parse_cgroup_file(struct cgroup_memory *memory, const char *name, const char *bytes, size_t length)
{
	struct cgroup_memory all = *memory;
	struct text text = ebbi_text(bytes, length);
	bool known = false, found = false;
	int error = 0;

	for (size_t i = 0; i < SOURCES && error == 0; i++) {
		if (strcmp(sources[i].file, name) != 0)
			continue;
		known = true;
		found |= sources[i].name == NULL;
		error = sources[i].name ? parse_line(&all, &sources[i], text, &found)
					: parse_number(&all, &sources[i], text);
	}
	if (error == 0 && !known)
		error = -ENOENT;
	/* memory.oom_control of old kernels does not count. */
	if (error == 0 && !found && strcmp(name, "memory.oom_control") != 0)
		error = -EINVAL;
	if (error == 0)
		*memory = all;
	return error;
}
