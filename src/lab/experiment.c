#include "lab/experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/session.h"
#include "lab/spawn.h"
#include "observe/elf_file.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define IDLE_NS (300 * MS)
#define IDLE_LIMIT_NS (2 * SECOND)
#define LAST_EVERY_NS (1 * SECOND)
/* How long helpers may take to hand on the rest of the output and go. */
#define HELPER_WAIT_NS (2 * SECOND)

void ebbi_session_progress(struct session *session, const char *format, ...)
{
	char line[512];
	va_list arguments;

	if (!session->plan->progress)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	session->plan->progress(session->plan->progress_context, line);
}

static void tick(struct session *session, uint64_t now_ns)
{
	if (!session->plan->tick || now_ns < session->next_tick_ns)
		return;
	session->next_tick_ns = now_ns + SECOND;
	session->plan->tick(session->plan->progress_context);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* --- Start ------------------------------------------------------------------------------- */

static int fail(char *ret_message, int *ret_exit, int code, int error, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static int fail(char *ret_message, int *ret_exit, int code, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(ret_message, LAB_MESSAGE, format, arguments);
	va_end(arguments);
	*ret_exit = code;
	return error;
}

/* Somebody who answers before the command runs would be measured in its place. */
static int check_nobody_answers(const struct ready *ready, char *ret_message, int *ret_exit)
{
	if (ready->kind != READY_TCP && ready->kind != READY_HTTP)
		return 0;
	switch (ebbi_ready_ask(ready)) {
	case ANSWER_YES:
		return fail(
			ret_message, ret_exit, EXIT_MEASURE, -EADDRINUSE,
			"%s:%s answers already, before the command was started: stop whoever listens there, or use another port",
			ready->host, ready->port);
	case ANSWER_NO_HOST:
		return fail(ret_message, ret_exit, EXIT_MEASURE, -EHOSTUNREACH, "%s: the host name cannot be resolved",
			    ready->host);
	case ANSWER_NO_CURL:
		return fail(
			ret_message, ret_exit, EXIT_MEASURE, -ENOENT,
			"--ready-http needs libcurl.so.4; on Debian: apt-get install libcurl4 (or use --ready-tcp)");
	case ANSWER_NO:
		break;
	}
	return 0;
}

static int start_command(struct session *session, char *ret_message, int *ret_exit)
{
	const struct experiment_plan *plan = session->plan;
	const char *command = plan->argv[0];
	struct spawn_plan spawn = {
		.argv = plan->argv,
		.environment = &plan->environment,
		.mask = &session->old_mask,
	};
	struct spawned spawned;
	int fds[2];
	int error = ebbi_output_open(session, TAP_COMMAND, fds);

	if (error != 0)
		return fail(ret_message, ret_exit, EXIT_SELF, error, "cannot start a helper: %s", strerror(-error));
	spawn.stdout_fd = fds[0];
	spawn.stderr_fd = fds[1];
	error = ebbi_spawn_command(&spawn, &spawned);
	ebbi_output_close(session, TAP_COMMAND, fds);
	if (error != 0)
		return fail(ret_message, ret_exit, EXIT_SELF, error, "cannot start a process: %s", strerror(-error));
	session->start_ns = ebbi_lab_now();
	if (spawned.exec_errno != 0) {
		waitpid(spawned.pid, NULL, 0);
		return fail(ret_message, ret_exit, spawned.exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE,
			    -spawned.exec_errno, "%.600s: %s", command, strerror(spawned.exec_errno));
	}
	session->main = spawned.pid;
	session->floor_bytes = spawned.floor_bytes;
	return 0;
}

static int start_prober(struct session *session, char *ret_message, int *ret_exit)
{
	enum ready_kind kind = session->plan->ready.kind;
	int error;

	if (kind != READY_TCP && kind != READY_HTTP)
		return 0;
	error = ebbi_ready_start(&session->plan->ready, &session->prober);
	if (error != 0)
		return fail(ret_message, ret_exit, EXIT_SELF, error, "cannot start a helper: %s", strerror(-error));
	ebbi_tree_exclude(&session->tree, session->prober);
	return 0;
}

/* 1 s, 5 s and 10 s as far as the rest goes, and its end. */
static void plan_rest(struct phases_plan *phases, uint64_t rest_ns)
{
	static const uint64_t usual_ns[] = {1 * SECOND, 5 * SECOND, 10 * SECOND};

	phases->rest_count = 0;
	for (size_t i = 0; i < 3; i++) {
		if (usual_ns[i] <= rest_ns)
			phases->rest_ns[phases->rest_count++] = usual_ns[i];
	}
	if (rest_ns > 0 && (phases->rest_count == 0 || phases->rest_ns[phases->rest_count - 1] != rest_ns))
		phases->rest_ns[phases->rest_count++] = rest_ns;
}

static void start_phases(struct session *session)
{
	const struct experiment_plan *plan = session->plan;
	struct phases_plan phases = {
		.has_ready = plan->ready.kind != READY_IDLE,
		.has_load = plan->load_command != NULL,
		.ready_timeout_ns = plan->ready_timeout_ns,
		.idle_ns = IDLE_NS,
		.idle_limit_ns = IDLE_LIMIT_NS,
		.grace_ns = plan->grace_ns,
		.last_every_ns = LAST_EVERY_NS,
	};

	plan_rest(&phases, plan->rest_ns);
	session->result->rest_count = phases.rest_count;
	memcpy(session->result->rest_ns, phases.rest_ns, sizeof(phases.rest_ns));
	ebbi_phases_start(&session->phases, &phases, session->start_ns);
}

/* --- Actions ----------------------------------------------------------------------------- */

static void add_load_variables(const struct session *session, struct environment *environment)
{
	const struct ready *ready = &session->plan->ready;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)session->main);
	ebbi_environment_set(environment, "EBB_PID", pid);
	if (ready->kind == READY_TCP || ready->kind == READY_HTTP) {
		ebbi_environment_set(environment, "EBB_HOST", ready->host);
		ebbi_environment_set(environment, "EBB_PORT", ready->port);
	}
	if (ready->kind == READY_HTTP)
		ebbi_environment_set(environment, "EBB_URL", ready->target);
}

static void start_load(struct session *session)
{
	static struct environment environment;
	struct load_plan load = {
		.command = session->plan->load_command,
		.function = session->plan->load_function,
		.context = session->plan->load_context,
		.environment = &environment,
		.mask = &session->old_mask,
	};
	int fds[2] = {-1, -1};
	int error;

	add_load_variables(session, &environment);
	session->load_started_ns = ebbi_lab_now();
	session->result->load_ran = true;
	ebbi_session_progress(session, "load: %s", load.command);
	error = ebbi_output_open(session, TAP_LOAD, fds);
	load.stdout_fd = fds[0];
	load.stderr_fd = fds[1];
	if (error == 0)
		error = ebbi_spawn_load(&load, &session->guard, &session->report_fd, &session->hold_fd);
	ebbi_output_close(session, TAP_LOAD, fds);
	if (error != 0) {
		session->result->load_status = 127 << 8;
		ebbi_phases_load_ended(&session->phases, /* failed= */ true);
		return;
	}
	ebbi_tree_exclude(&session->tree, session->guard);
}

static void tell_mark(struct session *session, const struct mark *mark, const char *what)
{
	uint64_t bytes;

	if (ebbi_mark_bytes(mark, mark->memory.processes > 1 ? BASIS_PSS : BASIS_RSS, &bytes))
		ebbi_session_progress(session, "%s: %.1f MiB", what, (double)bytes / 1048576.0);
}

static void mark_boot(struct session *session, uint64_t now_ns)
{
	struct run_result *result = session->result;
	char what[96];

	result->boot_by = session->phases.boot_by;
	if (result->boot_by != BOOT_BY_READY)
		result->ready_ns = now_ns - session->start_ns;
	ebbi_sample_mark(session, &result->boot, now_ns);
	snprintf(what, sizeof(what), "%s after %.2f s",
		 result->boot_by == BOOT_BY_READY  ? "ready"
		 : result->boot_by == BOOT_BY_IDLE ? "idle"
						   : "still busy",
		 seconds(result->ready_ns));
	tell_mark(session, &result->boot, what);
	ebbi_sample_look(session, LOOKED_AT_BOOT);
}

static void mark_rest(struct session *session, uint64_t now_ns)
{
	size_t i = ebbi_phases_rest_index(&session->phases);
	char what[64];

	ebbi_sample_mark(session, &session->result->rest[i], now_ns);
	ebbi_sample_look(session, LOOKED_AT_REST);
	if (session->phases.phase != PHASE_REST)
		return;
	snprintf(what, sizeof(what), "%g s at rest", seconds(session->result->rest_ns[i]));
	tell_mark(session, &session->result->rest[i], what);
}

static void send_term(struct session *session)
{
	uint64_t hwm_bytes = ebbi_tree_hwm(&session->tree);

	if (hwm_bytes > session->result->peak.hwm_bytes)
		session->result->peak.hwm_bytes = hwm_bytes;
	if (session->main > 0) {
		kill(session->main, SIGTERM);
		kill(session->main, SIGCONT);
	} else {
		session->leftovers_told = true;
		ebbi_events_signal_tree(session, SIGTERM);
	}
}

static void act(struct session *session, enum lab_action action, uint64_t now_ns)
{
	struct run_result *result = session->result;

	switch (action) {
	case LAB_MARK_BOOT:
		mark_boot(session, now_ns);
		break;
	case LAB_START_LOAD:
		start_load(session);
		break;
	case LAB_MARK_LOAD_END:
		ebbi_sample_mark(session, &result->load_end, now_ns);
		ebbi_session_progress(session, "load took %.2f s", seconds(result->load_ns));
		/* A large process takes long to look at: the first moments of its rest are not spent on that. */
		if (result->rest_count == 0)
			ebbi_sample_look(session, LOOKED_AFTER_LOAD);
		break;
	case LAB_MARK_REST:
		mark_rest(session, now_ns);
		break;
	case LAB_MARK_LAST:
		ebbi_sample_last(session, now_ns);
		ebbi_sample_look(session, LOOKED_AT_WORK);
		break;
	case LAB_SEND_TERM:
		send_term(session);
		break;
	case LAB_SEND_KILL:
		result->killed = true;
		ebbi_events_signal_tree(session, SIGKILL);
		break;
	case LAB_WAIT:
	case LAB_FINISH:
		break;
	}
}

static void run(struct session *session)
{
	for (;;) {
		uint64_t now_ns = ebbi_lab_now();
		uint64_t until_ns, deadline_ns;
		enum lab_action action;

		if (session->phases.phase != PHASE_STOP)
			ebbi_sample(session, now_ns);
		while ((action = ebbi_phases_next(&session->phases, now_ns)) != LAB_WAIT) {
			if (action == LAB_FINISH)
				return;
			act(session, action, now_ns);
			now_ns = ebbi_lab_now();
		}
		tick(session, now_ns);
		until_ns = ebbi_sample_next(session);
		if (session->phases.phase == PHASE_STOP)
			until_ns = now_ns + 50 * MS;
		deadline_ns = ebbi_phases_deadline(&session->phases);
		ebbi_events_wait(session, deadline_ns < until_ns ? deadline_ns : until_ns);
	}
}

/* --- End --------------------------------------------------------------------------------- */

/* Waits for a helper that is about to go; kills it when it takes too long. */
static void wait_helper(pid_t helper)
{
	uint64_t end_ns = ebbi_lab_now() + HELPER_WAIT_NS;
	const struct timespec pause = {.tv_nsec = 2 * MS};

	if (helper <= 0)
		return;
	while (waitpid(helper, NULL, WNOHANG) == 0) {
		if (ebbi_lab_now() >= end_ns)
			kill(helper, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

static void end_helpers(struct session *session)
{
	if (session->prober > 0)
		kill(session->prober, SIGKILL);
	wait_helper(session->prober);
	if (session->hold_fd >= 0)
		close(session->hold_fd);
	wait_helper(session->guard);
	for (int i = 0; i < TAPS; i++)
		wait_helper(session->taps[i]);
	if (session->seen_fd >= 0)
		close(session->seen_fd);
	if (session->report_fd >= 0)
		close(session->report_fd);
}

static void measure_tool(struct run_result *result)
{
	struct proc_status status;
	struct rusage usage;

	if (ebbi_proc_status(getpid(), &status) == 0)
		result->tool_rss_bytes = status.hwm_bytes;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		result->tool_cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
				      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static void conclude(struct session *session)
{
	struct run_result *result = session->result;

	result->total_ns = ebbi_lab_now() - session->start_ns;
	result->outcome = session->phases.outcome;
	result->left_behind = session->tree.count;
	result->processes_seen = session->tree.seen;
	ebbi_sample_preload_end(session);
	ebbi_result_conclude(result);
	measure_tool(result);
}

static int start(struct session *session, char *ret_message, int *ret_exit)
{
	int error = ebbi_tree_exclude_all(&session->tree);

	if (error != 0)
		return fail(ret_message, ret_exit, EXIT_MEASURE, error,
			    "/proc cannot be read (%s): ebb run needs it mounted", strerror(-error));
	error = check_nobody_answers(&session->plan->ready, ret_message, ret_exit);
	if (error != 0)
		return error;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		ebbi_result_note(session->result,
				 "orphans of the tree are not seen: the kernel refused the subreaper flag");
	error = start_command(session, ret_message, ret_exit);
	if (error != 0)
		return error;
	ebbi_tree_add(&session->tree, session->main);
	start_phases(session);
	error = start_prober(session, ret_message, ret_exit);
	if (error != 0)
		ebbi_events_signal_tree(session, SIGKILL);
	return error;
}

int ebbi_experiment_run(const struct experiment_plan *plan, struct run_result *ret_result, char *ret_message,
			int *ret_exit)
{
	struct elf_info info = {0};
	struct session session = {
		.plan = plan,
		.result = ret_result,
		.executable = ret_result->executable,
		.signal_fd = -1,
		.seen_fd = -1,
		.report_fd = -1,
		.hold_fd = -1,
	};
	int error;

	*ret_result = (struct run_result){
		.label = plan->label,
		.argv = plan->argv,
		.conf = plan->conf,
		.load_command = plan->load_command,
		.work_pattern = plan->work,
		.allocator = plan->allocator,
		.ready = plan->ready,
		.started_unix = (int64_t)time(NULL),
		.preload = PRELOAD_UNKNOWN,
		.timeline_step_ns = 40 * MS,
	};
	ebbi_machine_read(&ret_result->machine);
	if (!ebbi_preload_which(plan->argv[0], ret_result->executable, sizeof(ret_result->executable)))
		snprintf(ret_result->executable, sizeof(ret_result->executable), "%s", plan->argv[0]);
	if (ebbi_elf_read_path(ret_result->executable, &info) == 0)
		snprintf(ret_result->build_id, sizeof(ret_result->build_id), "%s", info.build_id);
	ebbi_tree_init(&session.tree, getpid());
	error = ebbi_events_open(&session);
	if (error != 0)
		return fail(ret_message, ret_exit, EXIT_SELF, error, "cannot watch signals: %s", strerror(-error));
	error = start(&session, ret_message, ret_exit);
	if (error == 0) {
		run(&session);
		conclude(&session);
	}
	end_helpers(&session);
	ebbi_output_conclude(&session);
	ebbi_tree_free(&session.tree);
	ebbi_events_close(&session);
	return error;
}
