#include "stats/refusal.h"

#include <stdbool.h>
#include <string.h>

#include "accounts/sampling.h"
#include "base/fmt.h"
#include "heap/account.h"
#include "heap/budget.h"
#include "heap/inside.h"
#include "platform/report.h"
#include "platform/smaps.h"
#include "platform/usage.h"
#include "stats/snapshot.h"

#define OWNERS_SHOWN 3u

/* A thread's thread-local memory lies at the end of its stack. */
static bool is_stack(uintptr_t start, uintptr_t end)
{
	for (struct ebbi_cache *cache = ebbi_load_acquire(&ebbi_heap.registry.all); cache != NULL;
	     cache = cache->next) {
		uintptr_t at = (uintptr_t)ebbi_load_relaxed(&cache->owner_at);

		if (at >= start && at < end)
			return true;
	}
	return false;
}

/* MiB with one decimal. */
static void mib(struct ebbi_fmt *line, uint64_t bytes)
{
	uint64_t tenths = (bytes * 10 + (1u << 19)) >> 20;

	ebbi_fmt_decimal(line, tenths / 10);
	ebbi_fmt_char(line, '.');
	ebbi_fmt_char(line, (char)('0' + tenths % 10));
}

static void item(struct ebbi_fmt *line, const char *name, uint64_t bytes)
{
	ebbi_fmt_text(line, name);
	mib(line, bytes);
}

/* In the unit that says it with the fewest digits. */
static void amount(struct ebbi_fmt *line, uint64_t bytes)
{
	if (bytes < (uint64_t)10 << 10) {
		ebbi_fmt_decimal(line, bytes);
		ebbi_fmt_text(line, bytes == 1 ? " byte" : " bytes");
	} else if (bytes < (uint64_t)10 << 20) {
		ebbi_fmt_decimal(line, (bytes + 512) >> 10);
		ebbi_fmt_text(line, " KiB");
	} else {
		mib(line, bytes);
		ebbi_fmt_text(line, " MiB");
	}
}

/* Who has the most of what is live: explicit accounts, and by the samples programs and libraries. */
struct holder {
	char name[sizeof(((struct ebb_owner *)NULL)->name)];
	uint64_t bytes;
};

static void insert(struct holder holders[OWNERS_SHOWN], const char *name, size_t room, uint64_t bytes)
{
	unsigned at = OWNERS_SHOWN;

	while (at > 0 && bytes > holders[at - 1].bytes)
		at--;
	if (at == OWNERS_SHOWN)
		return;
	memmove(&holders[at + 1], &holders[at], (OWNERS_SHOWN - 1 - at) * sizeof(holders[0]));
	memset(&holders[at], 0, sizeof(holders[0]));
	memcpy(holders[at].name, name, ebbi_min_size(room, sizeof(holders[0].name) - 1));
	holders[at].bytes = bytes;
}

static void find_holders(const struct ebb_snapshot *snapshot, struct holder holders[OWNERS_SHOWN])
{
	for (unsigned i = 0; i < EBB_SNAPSHOT_ACCOUNTS && snapshot->accounts[i].name[0] != '\0'; i++)
		insert(holders, snapshot->accounts[i].name, sizeof(snapshot->accounts[i].name),
		       snapshot->accounts[i].live_bytes);
	for (unsigned i = 0; i < EBB_SNAPSHOT_OWNERS && snapshot->owners[i].name[0] != '\0'; i++)
		insert(holders, snapshot->owners[i].name, sizeof(snapshot->owners[i].name),
		       snapshot->owners[i].live_bytes);
}

static void say_holders(struct ebbi_fmt *line, const struct holder holders[OWNERS_SHOWN])
{
	unsigned count = 0;

	for (; count < OWNERS_SHOWN && holders[count].bytes != 0; count++) {
		ebbi_fmt_text(line, count == 0 ? " (" : ", ");
		ebbi_fmt_foreign(line, holders[count].name, strlen(holders[count].name));
		item(line, " ", holders[count].bytes);
	}
	ebbi_fmt_text(line, count == 0 ? "" : ")");
}

/* The parts, which sum up to what the process has. What is none of the others is the last. */
static void parts(struct ebbi_fmt *line, const struct ebbi_budget_figures *budget)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	struct ebbi_smaps smaps = {.file_bytes = budget->file_bytes};
	const struct ebb_snapshot *snapshot;
	uint64_t own = ebbi_excess(budget->process_bytes, budget->other_bytes);
	uint64_t others = budget->other_bytes;
	struct holder holders[OWNERS_SHOWN] = {0};
	uint64_t live, metadata;

	if (cache != NULL && ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	snapshot = ebbi_snapshot_hold();
	live = ebbi_min_size(snapshot->live_bytes, own);
	metadata = snapshot->metadata_bytes;
	find_holders(snapshot, holders);
	ebbi_snapshot_release();
	if (cache != NULL)
		ebbi_handshake_leave(&cache->handshake);
	(void)ebbi_smaps_read(is_stack, &smaps);
	item(line, " = live ", live);
	say_holders(line, holders);
	item(line, " + held ", own - live);
	item(line, " + metadata ", metadata);
	item(line, " + binary and libraries ", smaps.file_bytes);
	item(line, " + stacks ", smaps.stack_bytes);
	item(line, " + other mappings ", ebbi_excess(others, metadata + smaps.file_bytes + smaps.stack_bytes));
}

/* ` in account http (31.9 of 32.0 MiB)`, of its limit or of the soft one. */
static void in_account(struct ebbi_fmt *line, int account, bool is_soft)
{
	struct ebbi_account_figures figures;

	if (ebbi_account_figures(account, &figures) != 0)
		return;
	ebbi_fmt_text(line, " in account ");
	ebbi_fmt_text(line, figures.name);
	item(line, " (", figures.live_bytes);
	item(line, " of ", is_soft ? figures.soft_bytes : figures.limit_bytes);
	ebbi_fmt_text(line, " MiB)");
}

/* Without a budget nobody measures the parts. */
static void unmeasured(struct ebbi_fmt *line)
{
	struct ebbi_usage usage;

	if (!ebbi_usage_read(&usage))
		return;
	item(line, ": process ", usage.resident_pages * (uint64_t)ebbi_vm_page_bytes());
	ebbi_fmt_text(line, " MiB");
}

void ebbi_refusal_explain(size_t bytes, int account)
{
	char text[640];
	char caller[48];
	struct ebbi_fmt line = ebbi_fmt_into(text, sizeof(text) - 1);
	struct ebbi_budget_figures budget;

	ebbi_budget_figures(&budget);
	ebbi_fmt_text(&line, "ebb: ");
	if (bytes != 0) {
		ebbi_fmt_text(&line, "refused ");
		amount(&line, bytes);
		ebbi_sampling_caller(caller, sizeof(caller));
		ebbi_fmt_text(&line, caller[0] == '\0' ? "" : " for ");
		ebbi_fmt_foreign(&line, caller, strlen(caller));
	} else {
		ebbi_fmt_text(&line, account != 0 ? "over the soft limit" : "over budget");
	}
	if (account != 0)
		in_account(&line, account, /* is_soft= */ bytes == 0);
	if (budget.line_bytes != 0) {
		item(&line, ": process ", budget.process_bytes);
		item(&line, " of ", budget.line_bytes);
		ebbi_fmt_text(&line, " MiB");
		parts(&line, &budget);
	} else {
		unmeasured(&line);
	}
	line.capacity++;
	ebbi_fmt_char(&line, '\n');
	ebbi_report_write(line.text, line.length);
}
