/*
 * accounts.h: the account table: who holds the resident memory of a process, summing up to its RSS.
 *
 * Owns: nothing; a struct is filled. Pure but for printing. Never: asks the process.
 * Threading: one thread. Errors: none.
 *
 * Invariant: the bytes of all rows sum up to rss_bytes. RSS is the sum of the mappings, exact at the moment they were read.
 * Under Ebb the pages of the heap are divided by the library's own figures, which are read just before and after:
 * what does not fit goes to "not accounted", which is below 0 by no more than bound_bytes.
 *
 * Live memory is divided among the accounts that the program opened, which are exact, and among libraries, which are
 * estimates and are cut down when they exceed what is left. Live memory that was never touched, or was swapped out, is no
 * part of RSS: one negative row takes it out again.
 */
#ifndef EBBI_REPORT_ACCOUNTS_H
#define EBBI_REPORT_ACCOUNTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "observe/look.h"
#include "report/format.h"

enum section {
#define ACCOUNT_SECTION(id, key, title) SECTION_##id,
#include "report/sections.def"
#undef ACCOUNT_SECTION
	SECTION_COUNT
};

#define ACCOUNT_ROWS (HOLDINGS_MOST + EBB_SNAPSHOT_ACCOUNTS + EBB_SNAPSHOT_OWNERS + 16)
#define ACCOUNT_NAME 72

struct account_row {
	enum section section;
	char name[ACCOUNT_NAME];
	int64_t bytes;
	uint64_t error_bytes; /* standard error of an estimate; 0: exact */
	uint64_t limit_bytes; /* an account's; 0: none */
	uint32_t count;       /* threads, mappings */
};

/* What counts against a limit but is no part of RSS, or is a part of it counted above. */
struct outside_row {
	const char *key;
	const char *title;
	bool known;
	uint64_t bytes;
	char note[64];
};
#define OUTSIDE_ROWS 8

struct account_table {
	bool on_ebb;
	uint64_t rss_bytes;
	uint64_t bound_bytes;
	uint64_t budget_bytes; /* 0: none */
	uint64_t live_bytes;   /* resident, under Ebb */
	uint64_t held_bytes;   /* under Ebb */
	size_t count;
	struct account_row rows[ACCOUNT_ROWS]; /* by section, the largest first */
	int64_t sections[SECTION_COUNT];
	size_t outside_count;
	struct outside_row outside[OUTSIDE_ROWS];
};

const char *ebbi_section_key(enum section section);
const char *ebbi_section_title(enum section section);

/* {"rss_bytes", "bound_bytes", "rows": [...], "not_in_rss": {...}} */
json_t *ebbi_accounts_json(const struct account_table *table);

void ebbi_accounts_make(const struct look *look, struct account_table *ret_table);

/* The table alone, indented by two; rows below `least_bytes` of a section are summed up in one. */
void ebbi_accounts_text(FILE *stream, const struct account_table *table, const struct style *style, bool exact,
			uint64_t least_bytes);

/* Why there are no rows of Ebb, as a sentence; false when there are, or nothing is to be said. */
bool ebbi_accounts_reason(const struct look *look, char *ret_text, size_t size);

#endif
