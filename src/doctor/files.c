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
/* v1 says "no limit" by the largest multiple of a page. */
#define NO_LIMIT ((uint64_t)1 << 60)
#define GROUP_STAT "memory.stat"

struct line_kind {
	const char *file;
	const char *name;
	enum fact_id id;
};

static const struct line_kind lines[] = {
#define FACT_LINE(file, name, id) {file, name, FACT_##id},
#include "doctor/files.def"
#undef FACT_LINE
#define FACT_GROUP_LINE(name, id) {GROUP_STAT, name, FACT_##id},
#include "doctor/files.def"
#undef FACT_GROUP_LINE
};

static const struct line_kind numbers[] = {
#define FACT_NUMBER(file, id) {file, "", FACT_##id},
#include "doctor/files.def"
#undef FACT_NUMBER
};

static const char *const names[] = {
	"smaps_rollup",
	"status",
	"smaps",
	GROUP_STAT,
	"memory.current",
	"memory.usage_in_bytes",
	"memory.max",
	"memory.limit_in_bytes",
	"memory.swap.current",
	"memory.kmem.usage_in_bytes",
	"memory.kmem.tcp.usage_in_bytes",
	"memory.events",
	"meminfo",
	"thp",
	"oom",
	"ledger.json",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *ebbi_facts_file_name(size_t index)
{
	return index < COUNT(names) ? names[index] : NULL;
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
	const char *source = strncmp(file, "memory.", 7) == 0 ? "cgroup" : file;
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
			ebbi_fact_set(facts, lines[i].id, value, source);
			break;
		}
	}
	if (seen == 0)
		return refuse(message, file, "no line of it is known: is it a copy of that kernel file?");
	return 0;
}

static int read_number(struct facts *facts, const struct line_kind *kind, struct text text, char *message)
{
	uint64_t value;

	if (ebbi_text_skip(&text, "max"))
		return 0;
	if (!ebbi_text_decimal(&text, &value))
		return refuse(message, kind->file, "it is no number");
	if (kind->id != FACT_CG_LIMIT || value < NO_LIMIT)
		ebbi_fact_set(facts, kind->id, value, "cgroup");
	return 0;
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

	for (size_t i = 0; i < COUNT(numbers); i++) {
		if (strcmp(numbers[i].file, name) == 0)
			return read_number(facts, &numbers[i], text, ret_message);
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
	if (strcmp(name, "memory.events") == 0)
		return read_line_of(facts, name, "oom_kill ", FACT_CG_KILLS, text, ret_message);
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
	for (size_t i = 0; i < COUNT(names); i++) {
		char path[4400];
		bool found;
		int error;

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		error = ebbi_facts_from_file(facts, path, names[i], &found, ret_message);
		if (error != 0)
			return error;
	}
	return 0;
}
