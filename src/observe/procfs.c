#include "observe/procfs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define KIB 1024u

/* "   123 kB" after the colon; false unless it is a whole number of kB that fits. */
static bool kilobytes(struct text line, uint64_t *ret_bytes)
{
	uint64_t value;

	if (!ebbi_text_decimal(&line, &value))
		return false;
	ebbi_text_blanks(&line);
	if (!ebbi_text_skip(&line, "kB"))
		return false;
	return !__builtin_mul_overflow(value, KIB, ret_bytes);
}

static bool pid_of(struct text *text, pid_t *ret_pid)
{
	uint64_t value;

	if (!ebbi_text_decimal(text, &value) || value > INT_MAX)
		return false;
	*ret_pid = (pid_t)value;
	return true;
}

struct field {
	const char *name;
	uint64_t *bytes;
	unsigned seen;
};

/* Reads "Name:  N kB" lines; each bit of the result is one field that was there. -1: malformed. */
static int read_fields(struct text text, const struct field *fields, size_t count)
{
	struct text line;
	int seen = 0;

	while (ebbi_text_line(&text, &line)) {
		for (size_t i = 0; i < count; i++) {
			struct text rest = line;

			if (!ebbi_text_skip(&rest, fields[i].name))
				continue;
			if (!kilobytes(rest, fields[i].bytes))
				return -1;
			seen |= (int)fields[i].seen;
		}
	}
	return seen;
}

static bool status_ids(struct text text, struct proc_status *status)
{
	bool tgid = false, ppid = false, threads = false;
	struct text line;

	while (ebbi_text_line(&text, &line)) {
		if (ebbi_text_skip(&line, "Tgid:"))
			tgid = pid_of(&line, &status->tgid);
		else if (ebbi_text_skip(&line, "PPid:"))
			ppid = pid_of(&line, &status->ppid);
		else if (ebbi_text_skip(&line, "Threads:"))
			threads = ebbi_text_decimal(&line, &status->threads);
	}
	return tgid && ppid && threads;
}

int ebbi_parse_status(const char *bytes, size_t length, struct proc_status *ret_status)
{
	struct proc_status status = {0};
	const struct field fields[] = {
		{"VmHWM:", &status.hwm_bytes, 1},         {"VmRSS:", &status.rss_bytes, 2},
		{"RssAnon:", &status.anon_bytes, 4},      {"RssFile:", &status.file_bytes, 8},
		{"RssShmem:", &status.shmem_bytes, 16},   {"VmSwap:", &status.swap_bytes, 32},
		{"VmPTE:", &status.page_table_bytes, 64},
	};
	struct text text = ebbi_text(bytes, length);
	int seen = read_fields(text, fields, sizeof(fields) / sizeof(fields[0]));

	if (seen < 0 || !status_ids(text, &status))
		return -EINVAL;
	/* Some memory lines and not others: the text was cut. */
	if ((seen & 3) != 0 && (seen & 3) != 3)
		return -EINVAL;
	status.has_memory = (seen & 3) == 3;
	*ret_status = status;
	return 0;
}

int ebbi_parse_statm(const char *bytes, size_t length, uint64_t page_bytes, struct proc_statm *ret_statm)
{
	struct text text = ebbi_text(bytes, length);
	uint64_t pages[3];

	for (int i = 0; i < 3; i++) {
		if (!ebbi_text_decimal(&text, &pages[i]) || __builtin_mul_overflow(pages[i], page_bytes, &pages[i]))
			return -EINVAL;
	}
	/* A number that ends with the text may have lost digits. */
	if (text.at == text.end)
		return -EINVAL;
	*ret_statm = (struct proc_statm){pages[0], pages[1], pages[2]};
	return 0;
}

int ebbi_parse_rollup(const char *bytes, size_t length, struct proc_rollup *ret_rollup)
{
	struct proc_rollup rollup = {0};
	const struct field fields[] = {
		{"Rss:", &rollup.rss_bytes, 1},
		{"Pss:", &rollup.pss_bytes, 2},
		{"Anonymous:", &rollup.anonymous_bytes, 4},
		{"LazyFree:", &rollup.lazyfree_bytes, 8},
		{"AnonHugePages:", &rollup.huge_bytes, 16},
		{"Swap:", &rollup.swap_bytes, 32},
		{"SwapPss:", &rollup.swap_pss_bytes, 64},
	};
	int seen = read_fields(ebbi_text(bytes, length), fields, sizeof(fields) / sizeof(fields[0]));

	if (seen < 0 || (seen & 7) != 7)
		return -EINVAL;
	*ret_rollup = rollup;
	return 0;
}

/* The fields after the command, from the state on; see proc(5). */
static bool stat_fields(struct text text, struct proc_stat *stat)
{
	uint64_t skipped;
	struct text word;
	uint64_t *const wanted[] = {
		&stat->minor_faults, &stat->child_minor_faults, &stat->major_faults,     &stat->child_major_faults,
		&stat->user_ticks,   &stat->system_ticks,       &stat->child_user_ticks, &stat->child_system_ticks,
	};

	ebbi_text_blanks(&text);
	if (text.at == text.end)
		return false;
	stat->state = *text.at++;
	if (!pid_of(&text, &stat->ppid))
		return false;
	/* pgrp session tty tpgid flags: tpgid may be -1, so they are words. */
	for (int i = 0; i < 5; i++) {
		if (!ebbi_text_word(&text, &word))
			return false;
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (!ebbi_text_decimal(&text, wanted[i]))
			return false;
	}
	/* priority and nice may be negative. */
	if (!ebbi_text_word(&text, &word) || !ebbi_text_word(&text, &word))
		return false;
	return ebbi_text_decimal(&text, &stat->threads) && ebbi_text_decimal(&text, &skipped) &&
	       ebbi_text_decimal(&text, &stat->start_ticks) && text.at < text.end;
}

int ebbi_parse_stat(const char *bytes, size_t length, struct proc_stat *ret_stat)
{
	struct proc_stat stat = {0};
	struct text text = ebbi_text(bytes, length);
	struct text command;
	const char *close;

	if (!pid_of(&text, &stat.pid) || !ebbi_text_skip(&text, " ("))
		return -EINVAL;
	/* The command may hold blanks and parentheses: it ends at the last one of the file. */
	close = memrchr(text.at, ')', ebbi_text_length(&text));
	if (!close)
		return -EINVAL;
	command = (struct text){.at = text.at, .end = close};
	ebbi_text_copy(&command, stat.command, sizeof(stat.command));
	text.at = close + 1;
	if (!stat_fields(text, &stat))
		return -EINVAL;
	*ret_stat = stat;
	return 0;
}

static bool strip_end(struct text *text, const char *ending)
{
	size_t length = strlen(ending);

	if (ebbi_text_length(text) < length || memcmp(text->end - length, ending, length) != 0)
		return false;
	text->end -= length;
	return true;
}

int ebbi_parse_map(const struct text *line, struct proc_map *ret_map)
{
	struct proc_map map = {0};
	struct text text = *line;
	struct text permissions, device;

	if (!ebbi_text_hex(&text, &map.start) || !ebbi_text_skip(&text, "-") || !ebbi_text_hex(&text, &map.end) ||
	    map.end < map.start)
		return -EINVAL;
	if (!ebbi_text_word(&text, &permissions) || ebbi_text_length(&permissions) != 4)
		return -EINVAL;
	map.readable = permissions.at[0] == 'r';
	map.writable = permissions.at[1] == 'w';
	map.executable = permissions.at[2] == 'x';
	map.shared = permissions.at[3] == 's';
	if (!ebbi_text_hex(&text, &map.offset_bytes) || !ebbi_text_word(&text, &device) ||
	    !ebbi_text_decimal(&text, &map.inode))
		return -EINVAL;
	ebbi_text_blanks(&text);
	map.deleted = strip_end(&text, " (deleted)");
	map.path = text;
	*ret_map = map;
	return 0;
}

int ebbi_parse_loadavg(const char *bytes, size_t length, pid_t *ret_newest)
{
	struct text text = ebbi_text(bytes, length);
	struct text word;
	pid_t newest;

	for (int i = 0; i < 4; i++) {
		if (!ebbi_text_word(&text, &word))
			return -EINVAL;
	}
	if (!pid_of(&text, &newest) || !ebbi_text_skip(&text, "\n"))
		return -EINVAL;
	*ret_newest = newest;
	return 0;
}

int ebbi_parse_choice(const char *bytes, size_t length, char *ret_choice, size_t size)
{
	const char *open = memchr(bytes, '[', length);
	const char *close = open ? memchr(open, ']', length - (size_t)(open - bytes)) : NULL;
	struct text word;

	if (!close)
		return -EINVAL;
	word = (struct text){.at = open + 1, .end = close};
	ebbi_text_copy(&word, ret_choice, size);
	return 0;
}

int ebbi_parse_environ(const char *bytes, size_t length, const char *name, struct text *ret_value)
{
	const char *at = bytes;
	const char *end = bytes + length;

	while (at < end) {
		const char *stop = memchr(at, 0, (size_t)(end - at));
		struct text entry = {.at = at, .end = stop ? stop : end};

		if (ebbi_text_skip(&entry, name) && ebbi_text_skip(&entry, "=")) {
			*ret_value = entry;
			return 0;
		}
		if (!stop)
			break;
		at = stop + 1;
	}
	return -EINVAL;
}
