#include "lab/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "observe/snapshot.h"
#include "observe/text.h"

#define MS 1000000ull
/* Short commands and their children live in the first moments: look closer there. */
#define EARLY_NS (300 * MS)
#define EARLY_STEP_NS (10 * MS)
#define STEP_NS (40 * MS)
#define TIMES_STEP_NS (100 * MS)
/*
 * Each of the things that walk page tables (a sum of PSS, the last mark, a look at work) may cost 0.25 % of the time of a
 * process at work: with the samples (0.3 % of a core) that stays below 1 % (scripts/bench-command run). Where that allows,
 * a sum of PSS comes at least each second.
 */
#define WALK_COST_FACTOR 400u
#define PSS_STEP_NS (1000 * MS)
/* Before this the loader may still be at work, and a library that is missing says nothing. */
#define LOADED_NS (200 * MS)

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- Timeline ---------------------------------------------------------------------------- */

static void timeline_add(struct run_result *result, uint64_t at_ns, uint64_t rss_bytes)
{
	size_t kept = 0;

	if (result->timeline_count > 0) {
		const struct timeline_point *last = &result->timeline[result->timeline_count - 1];

		if (at_ns - last->at_ns < result->timeline_step_ns)
			return;
	}
	if (result->timeline_count == TIMELINE_POINTS) {
		/* Full: every other point goes and the step doubles. */
		for (size_t i = 0; i < TIMELINE_POINTS; i += 2)
			result->timeline[kept++] = result->timeline[i];
		result->timeline_count = kept;
		result->timeline_step_ns *= 2;
	}
	result->timeline[result->timeline_count++] = (struct timeline_point){at_ns, rss_bytes};
}

/* --- Preload ----------------------------------------------------------------------------- */

static const char *preload_path(const struct session *session)
{
	return session->plan->allocator.path[0] ? session->plan->allocator.path : NULL;
}

static void preload_main(struct session *session, uint64_t now_ns)
{
	struct run_result *result = session->result;
	bool early = now_ns - session->start_ns < LOADED_NS;
	struct preload_look look;
	int error = ebbi_preload_look(session->main, preload_path(session), &look);

	/* A process that is about to exec or to end is closed to us for a moment, too. */
	if ((error == -EACCES || error == -EPERM) && !early) {
		result->preload = PRELOAD_UNKNOWN;
		result->preload_reason = REASON_NO_RIGHTS;
	}
	if (error != 0)
		return;
	result->others = look;
	if (look.state == PRELOAD_MISSED && early)
		return;
	/* A loader maps what it then finds it cannot link, and ends the process: musl's does with glibc's libraries. */
	if (look.state == PRELOAD_TAKEN && early && ebbi_preload_obstacle(session->executable) != REASON_NONE)
		return;
	if (look.state == PRELOAD_MISSED && result->preload != PRELOAD_MISSED)
		result->preload_reason = ebbi_preload_explain(session->main, session->executable);
	result->preload = look.state;
	if (look.state != PRELOAD_MISSED)
		result->preload_reason = REASON_NONE;
}

/* How many of the tree run with the library. */
static void preload_count(struct session *session)
{
	struct run_result *result = session->result;
	struct preload_look look;

	if (!preload_path(session))
		return;
	result->preload_processes = 0;
	result->preload_missing = 0;
	for (size_t i = 0; i < session->tree.count; i++) {
		ebbi_preload_look(session->tree.processes[i].pid, preload_path(session), &look);
		if (look.state == PRELOAD_TAKEN)
			result->preload_processes++;
		else if (look.state == PRELOAD_MISSED)
			result->preload_missing++;
	}
}

/* Nobody is left to be looked at: what the file says decides. */
void ebbi_sample_preload_end(struct session *session)
{
	struct run_result *result = session->result;
	enum preload_reason obstacle;

	if (!preload_path(session)) {
		result->preload = PRELOAD_NONE;
		return;
	}
	if (result->preload == PRELOAD_TAKEN || result->preload == PRELOAD_MISSED)
		return;
	obstacle = ebbi_preload_obstacle(session->executable);
	if (obstacle != REASON_NONE) {
		result->preload = PRELOAD_MISSED;
		result->preload_reason = obstacle;
	} else if (result->preload_reason == REASON_NONE) {
		result->preload_reason = REASON_TOO_SHORT;
	}
}

/* --- Memory ------------------------------------------------------------------------------ */

static void sum_pss(struct session *session, uint64_t rss_bytes, uint64_t now_ns)
{
	struct peak *peak = &session->result->peak;
	struct tree_memory memory;
	uint64_t cost_ns;

	ebbi_tree_memory(&session->tree, &memory);
	cost_ns = ebbi_lab_now() - now_ns;
	if (memory.refused == 0)
		peak->pss_bytes = max_of(peak->pss_bytes, memory.pss_bytes + memory.swap_pss_bytes);
	session->pss_at_rss_bytes = rss_bytes;
	session->next_pss_ns = now_ns + cost_ns * WALK_COST_FACTOR;
}

/* A tree's PSS is summed when its RSS has risen beyond what was summed, and now and then. */
static void consider_pss(struct session *session, uint64_t rss_bytes, uint64_t now_ns)
{
	bool risen = rss_bytes > session->pss_at_rss_bytes + session->pss_at_rss_bytes / 64;

	if (session->tree.count < 2 || now_ns < session->next_pss_ns)
		return;
	if (risen || now_ns >= session->next_pss_ns + PSS_STEP_NS)
		sum_pss(session, rss_bytes, now_ns);
}

static void sample_times(struct session *session, uint64_t now_ns)
{
	struct run_result *result = session->result;
	struct tree_times times;

	ebbi_tree_times(&session->tree, &times);
	result->threads_most = max_of(result->threads_most, times.threads);
	if (ebbi_phases_wants_cpu(&session->phases))
		ebbi_phases_cpu(&session->phases, now_ns, times.user_ns + times.system_ns, times.running > 0);
	if (session->main > 0 && session->phases.phase == PHASE_BOOT && result->preload != PRELOAD_TAKEN)
		preload_main(session, now_ns);
}

void ebbi_sample(struct session *session, uint64_t now_ns)
{
	struct run_result *result = session->result;
	uint64_t rss_bytes;

	if (now_ns < session->next_sample_ns)
		return;
	ebbi_tree_update(&session->tree, now_ns);
	rss_bytes = ebbi_tree_rss(&session->tree);
	result->peak.rss_bytes = max_of(result->peak.rss_bytes, rss_bytes);
	result->processes_most = max_of(result->processes_most, session->tree.count);
	if (rss_bytes > 0)
		timeline_add(result, now_ns - session->start_ns, rss_bytes);
	consider_pss(session, rss_bytes, now_ns);
	if (now_ns >= session->next_times_ns) {
		session->next_times_ns = now_ns + TIMES_STEP_NS;
		sample_times(session, now_ns);
	}
	session->next_sample_ns = now_ns + (now_ns - session->start_ns < EARLY_NS ? EARLY_STEP_NS : STEP_NS);
}

uint64_t ebbi_sample_next(const struct session *session)
{
	return session->next_sample_ns;
}

/* --- Marks ------------------------------------------------------------------------------- */

/* Ebb's own figures of one process; does nothing when it does not run on Ebb. */
static void mark_ebb(struct session *session, struct mark *mark, pid_t pid, const char *library)
{
	struct ebb_snapshot snapshot;
	uint64_t address;

	if (ebbi_snapshot_find(pid, library, &address) != 0 || ebbi_snapshot_read(pid, address, &snapshot) != 0)
		return;
	mark->ebb_processes++;
	mark->ebb_live_bytes += snapshot.live_bytes;
	mark->ebb_held_bytes += ebbi_snapshot_held(&snapshot);
	if (pid == session->main)
		mark->ebb = snapshot;
}

/* The file that the library is mapped from; any Ebb may come with the program itself. */
static const char *ebb_library(const struct session *session)
{
	const struct allocator *allocator = &session->plan->allocator;

	return allocator->is_ebb ? strrchr(allocator->path, '/') + 1 : "libebb.so";
}

void ebbi_sample_mark(struct session *session, struct mark *mark, uint64_t now_ns)
{
	const char *library = ebb_library(session);
	struct run_result *result = session->result;
	struct peak *peak = &result->peak;

	*mark = (struct mark){.at_ns = now_ns - session->start_ns};
	ebbi_tree_update(&session->tree, now_ns);
	ebbi_tree_memory(&session->tree, &mark->memory);
	mark->statm_bytes = ebbi_tree_rss(&session->tree);
	ebbi_tree_times(&session->tree, &mark->times);
	for (size_t i = 0; i < session->tree.count; i++)
		mark_ebb(session, mark, session->tree.processes[i].pid, library);
	mark->taken = mark->statm_bytes > 0;
	peak->hwm_bytes = max_of(peak->hwm_bytes, ebbi_tree_hwm(&session->tree));
	peak->rss_bytes = max_of(peak->rss_bytes, mark->statm_bytes);
	if (mark->memory.refused == 0)
		peak->pss_bytes = max_of(peak->pss_bytes, mark->memory.pss_bytes + mark->memory.swap_pss_bytes);
	result->threads_most = max_of(result->threads_most, mark->times.threads);
	result->processes_most = max_of(result->processes_most, session->tree.count);
	if (session->main > 0)
		preload_main(session, now_ns);
	preload_count(session);
}

void ebbi_sample_last(struct session *session, uint64_t now_ns)
{
	if (now_ns < session->next_last_ns)
		return;
	ebbi_sample_mark(session, &session->result->last, now_ns);
	session->next_last_ns = now_ns + (ebbi_lab_now() - now_ns) * WALK_COST_FACTOR;
}

/* --- The look for the account table ------------------------------------------------------ */

static pid_t largest(const struct tree *tree)
{
	const struct tree_process *most = NULL;

	for (size_t i = 0; i < tree->count; i++) {
		if (!most || tree->processes[i].rss_bytes > most->rss_bytes)
			most = &tree->processes[i];
	}
	return most ? most->pid : 0;
}

/*
 * A look walks all mappings, so it never comes while a load runs, and while a command without one works only as the ration
 * allows. Once there is a look at rest, one at work adds nothing. A look that fails leaves the one before.
 */
void ebbi_sample_look(struct session *session, enum looked when)
{
	/* Touched only when they are used: a launcher that is small says more of small commands. */
	static struct look looks[2];
	struct full_look *full = &session->result->full_look;
	struct look *look = full->look == &looks[0] ? &looks[1] : &looks[0];
	struct looker looker = {.pid = largest(&session->tree), .library = ebb_library(session)};
	uint64_t now_ns = ebbi_lab_now();

	if (looker.pid == 0 || when < full->when || (when == LOOKED_AT_WORK && now_ns < session->next_look_ns))
		return;
	if (ebbi_look(&looker, look) != 0)
		return;
	session->next_look_ns = now_ns + look->took_ns * WALK_COST_FACTOR;
	ebbi_text_clean(look->command);
	*full = (struct full_look){
		.when = when,
		.at_ns = now_ns - session->start_ns,
		.processes = session->tree.count,
		.is_main = looker.pid == session->main,
		.look = look,
	};
	if (when == LOOKED_AT_REST)
		full->rest_ns = session->result->rest_ns[ebbi_phases_rest_index(&session->phases)];
}
