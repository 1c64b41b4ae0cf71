#include "report/run_json.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "report/accounts.h"
#include "report/words.h"

json_t *ebbi_json_foreign(const char *text)
{
	json_t *string = json_string(text);
	char *copy;

	if (string)
		return string;
	/* Not UTF-8: bytes beyond ASCII become '?'. */
	copy = strdup(text);
	for (char *at = copy; at && *at; at++) {
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	}
	string = copy ? json_string(copy) : NULL;
	free(copy);
	return string;
}

static json_t *optional(const char *text)
{
	return text && text[0] ? ebbi_json_foreign(text) : json_null();
}

static json_t *bytes(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *seconds(uint64_t ns)
{
	return json_real((double)ns / 1e9);
}

/* json_object_set_new takes the value also when it fails, so only the last word matters. */
static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *strings(char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list[i]; i++)
		json_array_append_new(array, ebbi_json_foreign(list[i]));
	return array;
}

static json_t *snapshot_json(const struct ebb_snapshot *snapshot)
{
	json_t *object = json_object();

#define EBB_STAT(name, unit, help) set(object, #name, bytes(snapshot->name));
#include <ebb/stats.def>
#undef EBB_STAT
	return object;
}

static json_t *accounts_json(const struct ebb_snapshot *snapshot)
{
	json_t *array = json_array();

	for (size_t i = 0; i < EBB_SNAPSHOT_ACCOUNTS && snapshot->accounts[i].name[0]; i++) {
		const struct ebb_account *account = &snapshot->accounts[i];
		json_t *object = json_object();

		set(object, "name", ebbi_json_foreign(account->name));
		set(object, "live_bytes", bytes(account->live_bytes));
		set(object, "peak_bytes", bytes(account->peak_bytes));
		set(object, "limit_bytes", bytes(account->limit_bytes));
		set(object, "soft_limit_bytes", bytes(account->soft_limit_bytes));
		set(object, "refusals", bytes(account->refusals));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *owners_json(const struct ebb_snapshot *snapshot)
{
	json_t *array = json_array();

	for (size_t i = 0; i < EBB_SNAPSHOT_OWNERS && snapshot->owners[i].name[0]; i++) {
		const struct ebb_owner *owner = &snapshot->owners[i];
		json_t *object = json_object();

		set(object, "name", ebbi_json_foreign(owner->name));
		set(object, "live_bytes", bytes(owner->live_bytes));
		set(object, "error_bytes", bytes(owner->error_bytes));
		set(object, "samples", bytes(owner->samples));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *mark_ebb_json(const struct mark *mark)
{
	json_t *object = json_object();

	set(object, "processes", bytes(mark->ebb_processes));
	set(object, "live_bytes", bytes(mark->ebb_live_bytes));
	set(object, "held_bytes", bytes(mark->ebb_held_bytes));
	set(object, "main", mark->ebb.size_bytes ? snapshot_json(&mark->ebb) : json_null());
	set(object, "accounts", mark->ebb.size_bytes ? accounts_json(&mark->ebb) : json_null());
	set(object, "owners", mark->ebb.size_bytes ? owners_json(&mark->ebb) : json_null());
	return object;
}

static json_t *mark_json(const struct run_result *result, const struct mark *mark)
{
	const struct tree_memory *memory = &mark->memory;
	bool exact = memory->refused == 0 && memory->processes > 0;
	uint64_t figure = 0;
	bool known = ebbi_mark_bytes(mark, result->basis, &figure);
	json_t *object;

	if (!mark->taken)
		return json_null();
	object = json_object();
	set(object, "at_seconds", seconds(mark->at_ns));
	set(object, "bytes", known ? bytes(figure) : json_null());
	set(object, "source", json_string(exact ? "smaps_rollup" : "statm"));
	set(object, "bound_bytes", bytes(exact ? 0 : result->peak.bound_bytes));
	set(object, "processes", bytes(memory->processes));
	set(object, "processes_refused", bytes(memory->refused));
	set(object, "threads", bytes(mark->times.threads));
	if (exact) {
		set(object, "rss_bytes", bytes(memory->rss_bytes));
		set(object, "pss_bytes", bytes(memory->pss_bytes));
		set(object, "anonymous_bytes", bytes(memory->anonymous_bytes));
		set(object, "lazyfree_bytes", bytes(memory->lazyfree_bytes));
		set(object, "anon_huge_bytes", bytes(memory->huge_bytes));
		set(object, "swap_bytes", bytes(memory->swap_bytes));
		set(object, "swap_pss_bytes", bytes(memory->swap_pss_bytes));
	}
	set(object, "statm_rss_bytes", bytes(mark->statm_bytes));
	set(object, "cpu_user_seconds", seconds(mark->times.user_ns));
	set(object, "cpu_system_seconds", seconds(mark->times.system_ns));
	set(object, "minor_faults", bytes(mark->times.minor_faults));
	set(object, "major_faults", bytes(mark->times.major_faults));
	set(object, "ebb", mark->ebb_processes ? mark_ebb_json(mark) : json_null());
	return object;
}

static json_t *resting_json(const struct run_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->rest_count; i++) {
		json_t *mark = mark_json(result, &result->rest[i]);

		if (json_is_null(mark))
			continue;
		set(mark, "after_seconds", seconds(result->rest_ns[i]));
		json_array_append_new(array, mark);
	}
	return array;
}

static json_t *peak_json(const struct run_result *result)
{
	const struct peak *peak = &result->peak;
	json_t *object = json_object();
	bool known = peak->source != PEAK_NONE;

	set(object, "bytes", known ? bytes(peak->bytes) : json_null());
	set(object, "source", json_string(ebbi_word_peak(peak->source)));
	set(object, "bound_bytes", bytes(peak->bound_bytes));
	set(object, "upper_bytes", known ? bytes(peak->upper_bytes) : json_null());
	set(object, "vmhwm_bytes", bytes(peak->hwm_bytes));
	set(object, "wait4_bytes", bytes(peak->exit_bytes));
	set(object, "wait4_at_most_bytes", bytes(peak->at_most_bytes));
	set(object, "sampled_pss_bytes", bytes(peak->pss_bytes));
	set(object, "sampled_rss_bytes", bytes(peak->rss_bytes));
	return object;
}

static json_t *allocator_json(const struct run_result *result)
{
	json_t *object = json_object();
	json_t *others = json_array();
	bool unsure = result->preload == PRELOAD_MISSED || result->preload == PRELOAD_UNKNOWN;

	set(object, "name", ebbi_json_foreign(result->allocator.name));
	set(object, "path", optional(result->allocator.path));
	set(object, "build_id", optional(result->allocator.build_id));
	set(object, "conf", optional(result->conf));
	set(object, "preload", json_string(ebbi_word_preload(result->preload)));
	set(object, "preload_reason", unsure ? json_string(ebbi_preload_word(result->preload_reason)) : json_null());
	set(object, "processes_with", bytes(result->preload_processes));
	set(object, "processes_without", bytes(result->preload_missing));
	for (size_t i = 0; i < result->others.other_count; i++)
		json_array_append_new(others, ebbi_json_foreign(result->others.others[i]));
	set(object, "other_allocators", others);
	return object;
}

static json_t *machine_json(const struct machine *machine)
{
	json_t *object = json_object();

	set(object, "kernel", ebbi_json_foreign(machine->kernel));
	set(object, "architecture", ebbi_json_foreign(machine->architecture));
	set(object, "thp", ebbi_json_foreign(machine->thp));
	set(object, "cpus", bytes(machine->cpus));
	set(object, "page_bytes", bytes(machine->page_bytes));
	set(object, "memory_bytes", bytes(machine->memory_bytes));
	set(object, "swap_bytes", bytes(machine->swap_bytes));
	return object;
}

static json_t *status_json(int status)
{
	json_t *object = json_object();

	set(object, "exit_code", WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null());
	set(object, "signal", WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null());
	return object;
}

static json_t *load_json(const struct run_result *result)
{
	json_t *object;

	if (!result->load_command)
		return json_null();
	object = json_object();
	set(object, "command", ebbi_json_foreign(result->load_command));
	set(object, "seconds", result->load_ns ? seconds(result->load_ns) : json_null());
	set(object, "ended", result->load_ns ? status_json(result->load_status) : json_null());
	set(object, "work_pattern", optional(result->work_pattern));
	set(object, "work", result->has_work ? json_real(result->work) : json_null());
	return object;
}

static json_t *ready_json(const struct run_result *result)
{
	json_t *object = json_object();

	set(object, "by", json_string(ebbi_word_ready(result)));
	set(object, "target", optional(result->ready.target));
	set(object, "seconds", result->boot.taken ? seconds(result->ready_ns) : json_null());
	return object;
}

static json_t *totals_json(const struct run_result *result)
{
	json_t *object = json_object();

	set(object, "seconds", seconds(result->total_ns));
	set(object, "cpu_user_seconds", seconds(result->user_ns));
	set(object, "cpu_system_seconds", seconds(result->system_ns));
	set(object, "minor_faults", bytes(result->minor_faults));
	set(object, "major_faults", bytes(result->major_faults));
	set(object, "threads_most", bytes(result->threads_most));
	set(object, "processes_most", bytes(result->processes_most));
	set(object, "processes_seen", bytes(result->processes_seen));
	return object;
}

static json_t *timeline_json(const struct run_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->timeline_count; i++)
		json_array_append_new(array, json_pack("[f, I]", (double)result->timeline[i].at_ns / 1e9,
						       (json_int_t)result->timeline[i].rss_bytes));
	return array;
}

static json_t *notes_json(const struct run_result *result)
{
	json_t *array = json_array();
	char text[RESULT_NOTE_BYTES + 160];

	if (ebbi_sentence_outcome(result, text, sizeof(text)))
		json_array_append_new(array, ebbi_json_foreign(text));
	if (ebbi_sentence_preload(result, text, sizeof(text)))
		json_array_append_new(array, ebbi_json_foreign(text));
	for (size_t i = 0; i < result->note_count; i++)
		json_array_append_new(array, ebbi_json_foreign(result->notes[i]));
	return array;
}

static json_t *account_table_json(const struct full_look *full)
{
	static struct account_table table;
	json_t *object;

	if (!full->look)
		return json_null();
	ebbi_accounts_make(full->look, &table);
	object = ebbi_accounts_json(&table);
	set(object, "mark", json_string(ebbi_word_looked(full->when)));
	set(object, "at_seconds", seconds(full->at_ns));
	set(object, "pid", json_integer(full->look->pid));
	set(object, "process", ebbi_json_foreign(full->look->command));
	set(object, "is_main", json_boolean(full->is_main));
	set(object, "processes", bytes(full->processes));
	return object;
}

json_t *ebbi_run_json(const struct run_result *result)
{
	json_t *root = json_object();
	json_t *tool = json_object();
	time_t started = (time_t)result->started_unix;
	char date[32] = "";
	struct tm utc;

	if (gmtime_r(&started, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	set(root, "schema", json_string(RUN_SCHEMA));
	set(root, "ebb_version", json_string(EBB_VERSION));
	set(root, "label", ebbi_json_foreign(result->label));
	set(root, "started_at", json_string(date));
	set(root, "command", strings(result->argv));
	set(root, "executable",
	    json_pack("{s:o, s:o}", "path", optional(result->executable), "build_id", optional(result->build_id)));
	set(root, "allocator", allocator_json(result));
	set(root, "machine", machine_json(&result->machine));
	set(root, "outcome", json_string(ebbi_word_outcome(result->outcome)));
	set(root, "ended", result->main_reaped ? status_json(result->main_status) : json_null());
	set(root, "killed", json_boolean(result->killed));
	set(root, "ready", ready_json(result));
	set(root, "load", load_json(result));
	set(root, "basis", json_string(ebbi_word_basis(result->basis)));
	set(root, "boot", mark_json(result, &result->boot));
	set(root, "peak", peak_json(result));
	set(root, "load_end", mark_json(result, &result->load_end));
	set(root, "resting", resting_json(result));
	set(root, "last", mark_json(result, &result->last));
	set(root, "accounts", account_table_json(&result->full_look));
	set(root, "totals", totals_json(result));
	set(root, "timeline", timeline_json(result));
	set(tool, "peak_rss_bytes", bytes(result->tool_rss_bytes));
	set(tool, "cpu_seconds", seconds(result->tool_cpu_ns));
	set(root, "tool", tool);
	set(root, "notes", notes_json(result));
	return root;
}

char *ebbi_json_text(const json_t *document)
{
	char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
	size_t length = text ? strlen(text) : 0;
	char *longer = text ? realloc(text, length + 2) : NULL;

	if (!longer) {
		free(text);
		return NULL;
	}
	memcpy(longer + length, "\n", 2);
	return longer;
}
