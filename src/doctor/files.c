#include "doctor/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/ledger_file.h"
#include "doctor/mappings.h"
#include "doctor/oom.h"
#include "observe/text.h"

#define FILE_MOST (64u << 20)

struct line_kind {
	const char *file;
	const char *name;
	enum fact_id id;
};

static const struct line_kind lines[] = {
#define FACT_LINE(file, name, id) {file, name, FACT_##id},
#include "doctor/files.def"
#undef FACT_LINE
};

static const struct {
	enum cgroup_figure figure;
	enum fact_id id;
} group_figures[] = {
#define FACT_GROUP(figure, id) {CGROUP_##figure, FACT_##id},
#include "doctor/files.def"
#undef FACT_GROUP
};

/* Beside the files of a control group. */
static const char *const names[] = {
	"smaps_rollup", "status", "smaps", "meminfo", "thp", "oom", "ledger.json",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *ebbi_facts_file_name(size_t index)
{
	return index < COUNT(names) ? names[index] : ebbi_cgroup_file(index - COUNT(names));
}

static int refuse(char *message, const char *file, const char *why)
{
	snprintf(message, FACTS_MESSAGE, "%.200s: %s", file, why);
	return -EINVAL;
}

/* A number and, perhaps, its unit of 1024 bytes. */
static bool amount(struct text text, uint64_t *ret_value)
{
	uint64_t value;

	if (!ebbi_text_decimal(&text, &value))
		return false;
	ebbi_text_blanks(&text);
	if (ebbi_text_skip(&text, "kB") && __builtin_mul_overflow(value, 1024u, &value))
		return false;
	*ret_value = value;
	return true;
}

/* The lines of one kind, in the order of the table: the first name that is there counts. */
static int read_lines(struct facts *facts, const char *file, struct text whole, char *message)
{
	size_t seen = 0;

	for (size_t i = 0; i < COUNT(lines); i++) {
		struct text text = whole, line;

		if (strcmp(lines[i].file, file) != 0)
			continue;
		while (ebbi_text_line(&text, &line)) {
			uint64_t value;

			if (!ebbi_text_skip(&line, lines[i].name))
				continue;
			seen++;
			if (!amount(line, &value))
				return refuse(message, file, "a line of it has no number: is it cut off?");
			ebbi_fact_set(facts, lines[i].id, value, file);
			break;
		}
	}
	if (seen == 0)
		return refuse(message, file, "no line of it is known: is it a copy of that kernel file?");
	return 0;
}

void ebbi_facts_from_group(struct facts *facts, const struct cgroup_memory *group)
{
	for (size_t i = 0; i < COUNT(group_figures); i++) {
		enum cgroup_figure figure = group_figures[i].figure;

		if (group->has[figure])
			ebbi_fact_set(facts, group_figures[i].id, group->value[figure], "cgroup");
	}
}

static int read_line_of(struct facts *facts, const char *file, const char *name, enum fact_id id, struct text text,
			char *message)
{
	struct text line;
	uint64_t value;

	while (ebbi_text_line(&text, &line)) {
		if (!ebbi_text_skip(&line, name))
			continue;
		if (!amount(line, &value))
			return refuse(message, file, "a line of it has no number: is it cut off?");
		ebbi_fact_set(facts, id, value, file);
		return 0;
	}
	return refuse(message, file, "no line of it is known: is it a copy of that kernel file?");
}

static int read_thp(struct facts *facts, struct text text, char *message)
{
	const char *at = memchr(text.at, '[', ebbi_text_length(&text));

	if (!at)
		return refuse(message, "thp", "no word of it stands in brackets");
	text.at = at;
	ebbi_fact_set(facts, FACT_THP_ALWAYS, ebbi_text_skip(&text, "[always]"), "thp");
	return 0;
}

int ebbi_facts_from_text(struct facts *facts, const char *name, const char *bytes, size_t length, char *ret_message)
{
	struct text text = ebbi_text(bytes, length);

	if (strncmp(name, "memory.", 7) == 0) {
		struct cgroup_memory group = {0};

		if (ebbi_parse_cgroup_file(&group, name, bytes, length) != 0)
			return refuse(ret_message, name, "it is not what the kernel writes there: is it cut off?");
		ebbi_facts_from_group(facts, &group);
		return 0;
	}
	if (strcmp(name, "smaps") == 0)
		return ebbi_facts_from_smaps(facts, &text, ret_message);
	if (strcmp(name, "oom") == 0)
		return ebbi_facts_from_oom(facts, &text, ret_message);
	if (strcmp(name, "ledger.json") == 0)
		return ebbi_facts_from_ledger(facts, bytes, length, ret_message);
	if (strcmp(name, "thp") == 0)
		return read_thp(facts, text, ret_message);
	if (strcmp(name, "meminfo") == 0)
		return read_line_of(facts, name, "MemTotal:", FACT_MEMORY, text, ret_message);
	return read_lines(facts, name, text, ret_message);
}

/* The whole file; the caller frees it. */
static int read_whole(const char *path, char **ret_bytes, size_t *ret_length)
{
	size_t room = 1u << 16, length = 0;
	char *bytes = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error = fd < 0 ? -errno : 0;

	while (error == 0 && bytes) {
		ssize_t got;

		if (length == room) {
			char *more = room < FILE_MOST ? realloc(bytes, room * 2) : NULL;

			error = more ? 0 : -EFBIG;
			bytes = more ? more : bytes;
			room *= more ? 2 : 1;
			continue;
		}
		got = read(fd, bytes + length, room - length);
		if (got < 0 && errno != EINTR)
			error = -errno;
		if (got == 0)
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (error == 0 && !bytes)
		error = -ENOMEM;
	if (error != 0) {
		free(bytes);
		return error;
	}
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

int ebbi_facts_from_file(struct facts *facts, const char *path, const char *name, bool *ret_found, char *ret_message)
{
	char *bytes;
	size_t length;
	int error = read_whole(path, &bytes, &length);

	*ret_found = false;
	if (error == -ENOENT || error == -ENOTDIR)
		return 0;
	if (error != 0) {
		snprintf(ret_message, FACTS_MESSAGE, "%.300s: %s", path, strerror(-error));
		return error;
	}
	*ret_found = true;
	error = ebbi_facts_from_text(facts, name, bytes, length, ret_message);
	free(bytes);
	return error;
}

int ebbi_facts_from_files(struct facts *facts, const char *directory, char *ret_message)
{
	const char *name;

	for (size_t i = 0; (name = ebbi_facts_file_name(i)) != NULL; i++) {
		char path[4400];
		bool found;
		int error;

		snprintf(path, sizeof(path), "%s/%s", directory, name);
		error = ebbi_facts_from_file(facts, path, name, &found, ret_message);
		if (error != 0)
			return error;
	}
	return 0;
}
