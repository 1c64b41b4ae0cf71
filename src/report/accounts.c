#include "report/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *key;
	const char *title;
} sections[] = {
#define ACCOUNT_SECTION(id, key, title) {key, title},
#include "report/sections.def"
#undef ACCOUNT_SECTION
};

const char *ebbi_section_key(enum section section)
{
	return sections[section].key;
}

const char *ebbi_section_title(enum section section)
{
	return sections[section].title;
}

static struct account_row *add(struct account_table *table, enum section section, const char *name, int64_t bytes)
{
	static struct account_row spill;
	struct account_row *row = table->count < ACCOUNT_ROWS ? &table->rows[table->count++] : &spill;

	*row = (struct account_row){.section = section, .bytes = bytes};
	snprintf(row->name, sizeof(row->name), "%s", name);
	for (char *at = row->name; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	}
	table->sections[section] += bytes;
	return row;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- The heap ---------------------------------------------------------------------------- */

/* value * part / whole without losing bits. */
static uint64_t share(uint64_t value, uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (uint64_t)((unsigned __int128)value * part / whole);
}

/* Accounts of the program are exact; they are cut only if they were read at another moment than live_bytes. */
static uint64_t add_accounts(struct account_table *table, const struct ebb_snapshot *snapshot, uint64_t live)
{
	uint64_t sum = 0, left = live;

	for (size_t i = 0; i < EBB_SNAPSHOT_ACCOUNTS && snapshot->accounts[i].name[0]; i++)
		sum += snapshot->accounts[i].live_bytes;
	for (size_t i = 0; i < EBB_SNAPSHOT_ACCOUNTS && snapshot->accounts[i].name[0]; i++) {
		const struct ebb_account *account = &snapshot->accounts[i];
		uint64_t bytes = sum > live ? share(account->live_bytes, live, sum) : account->live_bytes;
		char name[ACCOUNT_NAME];
		struct account_row *row;

		snprintf(name, sizeof(name), "account %s", account->name);
		row = add(table, SECTION_LIVE, name, (int64_t)bytes);
		row->limit_bytes = account->limit_bytes;
		left -= least(bytes, left);
	}
	return left;
}

/* Estimates by samples, which may exceed what there is: then all are cut alike. */
static void add_owners(struct account_table *table, const struct ebb_snapshot *snapshot, uint64_t left)
{
	uint64_t sum = 0, room = left;

	for (size_t i = 0; i < EBB_SNAPSHOT_OWNERS && snapshot->owners[i].name[0]; i++)
		sum += snapshot->owners[i].live_bytes;
	for (size_t i = 0; i < EBB_SNAPSHOT_OWNERS && snapshot->owners[i].name[0]; i++) {
		const struct ebb_owner *owner = &snapshot->owners[i];
		uint64_t bytes = sum > room ? share(owner->live_bytes, room, sum) : owner->live_bytes;
		struct account_row *row = add(table, SECTION_LIVE, owner->name, (int64_t)bytes);

		row->error_bytes = owner->error_bytes;
		left -= least(bytes, left);
	}
	add(table, SECTION_LIVE, "not attributed", (int64_t)left);
}

/* Of `pages` resident in the heap's mappings; what of them is none of libebb's is returned. */
static int64_t add_heap(struct account_table *table, const struct look *look, uint64_t pages)
{
	const struct ebb_snapshot *snapshot = &look->snapshot;
	const struct {
		const char *name;
		uint64_t bytes;
	} held[] = {
		{"free slots in threads' caches", snapshot->held_cache_bytes},
		{"free pages inside slabs", snapshot->held_hole_bytes},
		{"free slots beside live ones", snapshot->held_slack_bytes},
		{"free page runs", snapshot->held_run_bytes},
	};
	uint64_t rest = snapshot->metadata_bytes;
	uint64_t absent;

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		add(table, SECTION_HELD, held[i].name, (int64_t)held[i].bytes);
		table->held_bytes += held[i].bytes;
		rest += held[i].bytes;
	}
	add(table, SECTION_OWN, "descriptors and page map", (int64_t)snapshot->metadata_bytes);
	add_owners(table, snapshot, add_accounts(table, snapshot, snapshot->live_bytes));
	/* What of live memory cannot be resident, since the mappings hold less. */
	absent = snapshot->live_bytes + rest > pages ? snapshot->live_bytes + rest - pages : 0;
	absent = least(absent, snapshot->live_bytes);
	if (absent > 0)
		add(table, SECTION_LIVE, "never touched, or swapped out", -(int64_t)absent);
	table->live_bytes = snapshot->live_bytes - absent;
	return (int64_t)pages - (int64_t)(table->live_bytes + rest);
}

/* --- The rest ---------------------------------------------------------------------------- */

static void add_holdings(struct account_table *table, const struct holdings *holdings)
{
	static const struct {
		enum section section;
		const char *before;
	} places[] = {
		[HOLDER_OBJECT] = {SECTION_OBJECTS, ""},
		[HOLDER_STACK] = {SECTION_STACKS, ""},
		[HOLDER_HEAP] = {SECTION_OTHER, "heap of libebb "},
		[HOLDER_BRK] = {SECTION_OTHER, "allocators: "},
		[HOLDER_ANONYMOUS] = {SECTION_OTHER, ""},
		[HOLDER_NAMED] = {SECTION_OTHER, "anonymous: "},
		[HOLDER_FILE] = {SECTION_OTHER, "file "},
		[HOLDER_SHARED] = {SECTION_OTHER, "shared memory "},
		[HOLDER_KERNEL] = {SECTION_OTHER, ""},
	};

	for (size_t i = 0; i < holdings->count; i++) {
		const struct holding *at = &holdings->all[i];
		char name[ACCOUNT_NAME + HOLDING_NAME];

		/* These two are divided elsewhere under Ebb; a mapping without a page is nobody's memory. */
		if (at->rss_bytes == 0 ||
		    (table->on_ebb && (at->holder == HOLDER_HEAP || at->holder == HOLDER_ANONYMOUS)))
			continue;
		snprintf(name, sizeof(name), "%s%s", places[at->holder].before, at->name);
		if (at->holder == HOLDER_ANONYMOUS)
			snprintf(name, sizeof(name), "anonymous: allocators and others");
		add(table, places[at->holder].section, name, (int64_t)at->rss_bytes)->count = at->mappings;
	}
}

static void outside(struct account_table *table, const char *key, const char *title, bool known, uint64_t bytes)
{
	table->outside[table->outside_count++] =
		(struct outside_row){.key = key, .title = title, .known = known, .bytes = bytes};
}

static void add_outside(struct account_table *table, const struct look *look)
{
	const struct cgroup_figures *group = &look->cgroup;
	struct outside_row *row;

	outside(table, "page_tables", "page tables", true, look->status.page_table_bytes);
	outside(table, "swap", "swap", true, look->holdings.swap_bytes);
	outside(table, "page_cache", "page cache of the control group", group->known, group->file_bytes);
	outside(table, "sockets", "socket buffers of the control group", group->has_sockets, group->socket_bytes);
	row = &table->outside[table->outside_count - 1];
	if (look->has_sockets)
		snprintf(row->note, sizeof(row->note), "%zu open", look->sockets);
	outside(table, "lazyfree", "given up by MADV_FREE, yet counted above", true, look->holdings.lazyfree_bytes);
}

/* --- The table --------------------------------------------------------------------------- */

static int by_section_and_size(const void *a, const void *b)
{
	const struct account_row *left = a, *right = b;

	if (left->section != right->section)
		return left->section < right->section ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return strcmp(left->name, right->name);
}

void ebbi_accounts_make(const struct look *look, struct account_table *ret_table)
{
	struct account_table *table = ret_table;
	uint64_t named = ebbi_holdings_of(&look->holdings, HOLDER_HEAP);
	uint64_t nameless = ebbi_holdings_of(&look->holdings, HOLDER_ANONYMOUS);
	int64_t left, sum = 0;

	memset(table, 0, sizeof(*table));
	table->on_ebb = look->snapshot_error == 0;
	table->rss_bytes = look->holdings.rss_bytes;
	add_holdings(table, &look->holdings);
	if (table->on_ebb) {
		table->budget_bytes = look->snapshot.budget_bytes;
		table->bound_bytes = look->heap_moved_bytes;
		/* Where the kernel keeps names of mappings, libebb's are told from others'; elsewhere what exceeds its figures. */
		left = add_heap(table, look, named ? named : nameless);
		if (named && nameless)
			add(table, SECTION_OTHER, "anonymous: others", (int64_t)nameless);
		else if (left > 0)
			add(table, SECTION_OTHER, "anonymous: others, or since the figures", left);
	}
	for (size_t i = 0; i < SECTION_COUNT; i++)
		sum += table->sections[i];
	add(table, SECTION_REST, "not accounted", (int64_t)table->rss_bytes - sum);
	/* A heap whose free part alone exceeds its pages: the two were read at different moments. */
	if (table->sections[SECTION_REST] < 0 && table->bound_bytes < (uint64_t)-table->sections[SECTION_REST])
		table->bound_bytes = (uint64_t)-table->sections[SECTION_REST];
	add_outside(table, look);
	qsort(table->rows, table->count, sizeof(table->rows[0]), by_section_and_size);
}

bool ebbi_accounts_reason(const struct look *look, char *ret_text, size_t size)
{
	switch (look->snapshot_error) {
	case 0:
	case -ENOENT:
		return false;
	case -EPROTO:
		snprintf(
			ret_text, size,
			"its libebb publishes figures in layout %u, and this ebb reads layout %u: use the ebb that is %s",
			look->snapshot_version, EBB_SNAPSHOT_VERSION,
			look->snapshot_version > EBB_SNAPSHOT_VERSION ? "newer" : "older");
		return true;
	case -ENODATA:
		snprintf(ret_text, size, "its libebb has not published anything yet");
		return true;
	case -ESTALE:
		snprintf(ret_text, size,
			 "libebb.so on disk is not the one it runs: start it anew, or put the old file back");
		return true;
	default:
		snprintf(ret_text, size, "libebb's figures cannot be read: %s", strerror(-look->snapshot_error));
		return true;
	}
}
