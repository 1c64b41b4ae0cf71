#include "doctor/pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor/files.h"
#include "doctor/rules.h"

/* Machines and loads that differ by less are the same. */
#define SAME_PERCENT 95u

static bool is_directory(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

int ebbi_pair_read(const char *directory, struct pair *ret_pair, bool *ret_is_pair, char *ret_message)
{
	struct facts *each[] = {&ret_pair->a, &ret_pair->b};
	char path[2][4352];

	*ret_is_pair = false;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%.4096s/%c", directory, (char)('a' + i));
		if (!is_directory(path[i]))
			return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		char message[FACTS_MESSAGE];
		int error = ebbi_facts_from_files(each[i], path[i], message);

		if (error != 0) {
			snprintf(ret_message, FACTS_MESSAGE, "%c: %.480s", (char)('a' + i), message);
			return error;
		}
	}
	*ret_is_pair = true;
	return 0;
}

struct differences {
	char text[FINDING_TEXT];
	size_t length;
	unsigned count;
};

static void differ(struct differences *differences, const char *what, const char *a, const char *b)
{
	int more = snprintf(differences->text + differences->length, sizeof(differences->text) - differences->length,
			    "%s%s (%.40s, %.40s)", differences->count > 0 ? "; " : "", what, a, b);

	differences->count++;
	differences->length += more > 0 ? (size_t)more : 0;
	if (differences->length > sizeof(differences->text) - 1)
		differences->length = sizeof(differences->text) - 1;
}

static bool same(uint64_t a, uint64_t b)
{
	return ebbi_share(a < b ? a : b, a < b ? b : a, SAME_PERCENT);
}

static void compare_fact(const struct pair *pair, enum fact_id id, struct differences *differences)
{
	uint64_t a = ebbi_fact(&pair->a, id), b = ebbi_fact(&pair->b, id);
	char left[AMOUNT_BYTES], right[AMOUNT_BYTES];

	if (!ebbi_known(&pair->a, id) || !ebbi_known(&pair->b, id) || same(a, b))
		return;
	if (ebbi_fact_kinds[id].unit == UNIT_BYTES) {
		(void)ebbi_amount(left, a);
		(void)ebbi_amount(right, b);
	} else {
		snprintf(left, sizeof(left), "%llu", (unsigned long long)a);
		snprintf(right, sizeof(right), "%llu", (unsigned long long)b);
	}
	differ(differences, ebbi_fact_kinds[id].title, left, right);
}

static void compare_text(const char *what, const char *a, const char *b, struct differences *differences)
{
	if (a[0] && b[0] && strcmp(a, b) != 0)
		differ(differences, what, a, b);
}

/* What must be the same whatever is compared. */
static void conditions(const struct pair *pair, struct differences *differences)
{
	static const enum fact_id ids[] = {FACT_SERVED, FACT_MEMORY, FACT_CPUS};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		compare_fact(pair, ids[i], differences);
	if (ebbi_known(&pair->a, FACT_THP_ALWAYS) && ebbi_known(&pair->b, FACT_THP_ALWAYS) &&
	    ebbi_fact(&pair->a, FACT_THP_ALWAYS) != ebbi_fact(&pair->b, FACT_THP_ALWAYS))
		differ(differences, "huge pages", ebbi_fact(&pair->a, FACT_THP_ALWAYS) ? "always" : "not always",
		       ebbi_fact(&pair->b, FACT_THP_ALWAYS) ? "always" : "not always");
	compare_text("kernel", pair->a.run.kernel, pair->b.run.kernel, differences);
	compare_text("phase", pair->a.run.phase, pair->b.run.phase, differences);
	compare_text("program", pair->a.command, pair->b.command, differences);
}

/* Of these, one may differ: it is what is compared. */
static void subjects(const struct pair *pair, struct differences *differences)
{
	compare_text("allocator", pair->a.allocator, pair->b.allocator, differences);
	compare_text("environment", pair->a.run.environment, pair->b.run.environment, differences);
	compare_text("build", pair->a.run.build, pair->b.run.build, differences);
}

static void rests_on(const struct facts *facts, struct finding *finding)
{
	static const enum fact_id ids[] = {FACT_RSS,    FACT_RSS_ANON, FACT_RSS_FILE, FACT_CG_USAGE,
					   FACT_SERVED, FACT_MEMORY,   FACT_CPUS,     FACT_THP_ALWAYS};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		ebbi_rests_on(facts, finding, ids[i]);
}

static uint64_t memory_of(const struct facts *facts)
{
	return ebbi_known(facts, FACT_RSS) ? ebbi_fact(facts, FACT_RSS) : ebbi_fact(facts, FACT_TOTAL);
}

/* Anonymous memory is the same, and the rest is files. */
static bool files_alone(const struct facts *more, const struct facts *less)
{
	uint64_t between = memory_of(more) - memory_of(less);
	uint64_t a = ebbi_fact(more, FACT_RSS_FILE), b = ebbi_fact(less, FACT_RSS_FILE);

	return ebbi_known(more, FACT_RSS_FILE) && ebbi_known(less, FACT_RSS_FILE) && a > b &&
	       ebbi_share(a - b, between, 80);
}

/* The other run is what somebody tried: the rules for that know the rest. */
static void add_trial(struct facts *more, const struct facts *less)
{
	struct intervention *tried = &more->tried[more->tried_count];
	bool allocator = strcmp(more->allocator, less->allocator) != 0;
	bool environment = strcmp(more->run.environment, less->run.environment) != 0;

	if (more->tried_count == FACTS_TRIED || (!allocator && !environment))
		return;
	*tried = (struct intervention){.kind = allocator ? TRIED_ALLOCATOR : TRIED_ENVIRONMENT,
				       .has_bytes = true,
				       .before_bytes = memory_of(more),
				       .after_bytes = memory_of(less)};
	snprintf(tried->name, sizeof(tried->name), "%.63s", allocator ? less->allocator : less->run.environment);
	if (tried->name[0])
		more->tried_count++;
}

static struct finding *nothing_of_one(struct verdict *verdict)
{
	snprintf(verdict->next, sizeof(verdict->next), "status of both: VmRSS, RssAnon, RssFile");
	return ebbi_find(verdict, CODE_UNKNOWN, 0, false, "of one of both no resident memory is known");
}

void ebbi_pair_judge(struct pair *pair, struct facts **ret_larger, struct verdict *ret_verdict)
{
	bool a_more = memory_of(&pair->a) >= memory_of(&pair->b);
	struct facts *more = a_more ? &pair->a : &pair->b, *less = a_more ? &pair->b : &pair->a;
	struct differences wrong = {0}, subject = {0};
	char amount[AMOUNT_BYTES];
	struct finding *finding = NULL;

	*ret_larger = more;
	*ret_verdict = (struct verdict){0};
	conditions(pair, &wrong);
	subjects(pair, &subject);
	if (wrong.count > 0 || subject.count > 1)
		finding = ebbi_find(ret_verdict, CODE_NOT_COMPARABLE, 0, true,
				    "a and b differ in more than what is compared: %.240s",
				    wrong.count > 0 ? wrong.text : subject.text);
	else if (memory_of(less) == 0)
		finding = nothing_of_one(ret_verdict);
	else if (same(memory_of(more), memory_of(less)))
		finding = ebbi_find(ret_verdict, CODE_HEALTHY, memory_of(more), true,
				    "no difference: both within %u %% of %s", 100 - SAME_PERCENT,
				    ebbi_amount(amount, memory_of(more)));
	else if (files_alone(more, less))
		finding = ebbi_find(ret_verdict, CODE_FILE_MMAP, memory_of(more) - memory_of(less), true,
				    "%s of difference are pages of files: compare RssAnon, not RSS",
				    ebbi_amount(amount, memory_of(more) - memory_of(less)));
	if (finding) {
		rests_on(more, finding);
		return;
	}
	add_trial(more, less);
	ebbi_verdict_make(more, ret_verdict);
}
