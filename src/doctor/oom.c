#include "doctor/oom.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "doctor/files.h"

#define SOURCE "oom report"

/* Steps behind the first `word` of the line. */
static bool behind(struct text *line, const char *word)
{
	size_t length = strlen(word);
	const char *at = memmem(line->at, ebbi_text_length(line), word, length);

	if (!at)
		return false;
	line->at = at + length;
	return true;
}

static bool kib_behind(struct text line, const char *word, uint64_t *ret_bytes)
{
	uint64_t value;

	if (!behind(&line, word) || !ebbi_text_decimal(&line, &value))
		return false;
	return !__builtin_mul_overflow(value, 1024u, ret_bytes);
}

static void set_kib(struct facts *facts, enum fact_id id, struct text line, const char *word)
{
	uint64_t bytes;

	if (kib_behind(line, word, &bytes))
		ebbi_fact_set(facts, id, bytes, SOURCE);
}

static void killed_line(struct facts *facts, struct text line)
{
	struct text name = line;

	ebbi_fact_set(facts, FACT_KILLED, 1, SOURCE);
	set_kib(facts, FACT_VM_SIZE, line, "total-vm:");
	set_kib(facts, FACT_RSS_ANON, line, "anon-rss:");
	set_kib(facts, FACT_RSS_FILE, line, "file-rss:");
	set_kib(facts, FACT_RSS_SHMEM, line, "shmem-rss:");
	set_kib(facts, FACT_PAGE_TABLES, line, "pgtables:");
	if (behind(&name, "(")) {
		const char *end = memchr(name.at, ')', ebbi_text_length(&name));

		if (end) {
			name.end = end;
			ebbi_text_copy(&name, facts->command, sizeof(facts->command));
			ebbi_text_clean(facts->command);
		}
	}
}

/* "memory: usage 655772kB, limit 655360kB, failcnt 7" and the statistics of the group. */
static void group_line(struct facts *facts, struct text line)
{
	static const struct {
		const char *word;
		enum fact_id id;
	} words[] = {
		{"anon_thp", FACT_ANON_HUGE},
		{"active_file", FACT_CG_ACTIVE},
		{"inactive_file", FACT_CG_INACTIVE},
		{"slab_reclaimable", FACT_CG_SLAB_RECLAIMABLE},
		{"slab", FACT_CG_SLAB},
		{"sock", FACT_CG_SOCK},
		{"shmem", FACT_CG_SHMEM},
		{"anon", FACT_CG_ANON},
		{"file_mapped", FACT_CG_FILE_MAPPED},
		{"file", FACT_CG_FILE},
	};

	if (behind(&line, "memory: usage ")) {
		uint64_t kib;

		if (ebbi_text_decimal(&line, &kib) && kib < UINT64_MAX >> 10)
			ebbi_fact_set(facts, FACT_CG_USAGE, kib << 10, SOURCE);
		set_kib(facts, FACT_CG_LIMIT, line, "limit ");
		return;
	}
	ebbi_text_blanks(&line);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct text rest = line;
		uint64_t value;

		if (!ebbi_text_skip(&rest, words[i].word) || rest.at == rest.end ||
		    (*rest.at != ' ' && *rest.at != ':'))
			continue;
		rest.at++;
		if (!ebbi_text_decimal(&rest, &value))
			continue;
		ebbi_text_blanks(&rest);
		if (ebbi_text_skip(&rest, "kB") && __builtin_mul_overflow(value, 1024u, &value))
			continue;
		ebbi_fact_set(facts, words[i].id, value, SOURCE);
		return;
	}
}

int ebbi_facts_from_oom(struct facts *facts, const struct text *text, char *ret_message)
{
	struct text rest = *text, line;

	while (ebbi_text_line(&rest, &line)) {
		struct text at = line;

		if (behind(&at, "Killed process ") || behind(&at, "oom_reaper: reaped process "))
			killed_line(facts, at);
		else
			group_line(facts, line);
	}
	if (!ebbi_known(facts, FACT_KILLED)) {
		snprintf(ret_message, FACTS_MESSAGE, "oom: no line \"Killed process ...\" in it");
		return -EINVAL;
	}
	return 0;
}
