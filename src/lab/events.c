#include "lab/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/spawn.h"

#define MS 1000000ull

static const int watched_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

int ebbi_events_open(struct session *session)
{
	sigset_t watched;

	sigemptyset(&watched);
	for (size_t i = 0; i < sizeof(watched_signals) / sizeof(watched_signals[0]); i++)
		sigaddset(&watched, watched_signals[i]);
	if (sigprocmask(SIG_BLOCK, &watched, &session->old_mask) != 0)
		return -errno;
	/* A parent may have left SIGCHLD ignored: then nobody could be waited for. */
	signal(SIGCHLD, SIG_DFL);
	session->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? -errno : 0;
}

void ebbi_events_close(struct session *session)
{
	struct signalfd_siginfo info;

	/* What came too late to matter must not strike us once the mask is back. */
	while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	close(session->signal_fd);
	sigprocmask(SIG_SETMASK, &session->old_mask, NULL);
}

void ebbi_events_signal_tree(struct session *session, int signal_number)
{
	ebbi_tree_rescan(&session->tree, ebbi_lab_now());
	for (size_t i = 0; i < session->tree.count; i++) {
		kill(session->tree.processes[i].pid, signal_number);
		kill(session->tree.processes[i].pid, SIGCONT);
	}
}

/* --- Children ---------------------------------------------------------------------------- */

static uint64_t time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void raise_to(uint64_t *largest, uint64_t bytes)
{
	if (bytes > *largest)
		*largest = bytes;
}

/* wait4 counts the process and every child it has waited for. */
static void account(struct session *session, const struct rusage *usage)
{
	struct run_result *result = session->result;
	uint64_t most_bytes = (uint64_t)usage->ru_maxrss * 1024;

	result->user_ns += time_ns(usage->ru_utime);
	result->system_ns += time_ns(usage->ru_stime);
	result->minor_faults += (uint64_t)usage->ru_minflt;
	result->major_faults += (uint64_t)usage->ru_majflt;
	if (most_bytes <= session->floor_bytes)
		raise_to(&result->peak.at_most_bytes, most_bytes);
	else
		raise_to(&result->peak.exit_bytes, most_bytes);
}

/* The oldest of those who are left: a daemon that its starter has detached from. */
static pid_t oldest(const struct tree *tree)
{
	const struct tree_process *found = NULL;

	for (size_t i = 0; i < tree->count; i++) {
		if (!found || tree->processes[i].start_ticks < found->start_ticks)
			found = &tree->processes[i];
	}
	return found ? found->pid : 0;
}

static void main_ended(struct session *session, int status)
{
	struct run_result *result = session->result;
	bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	result->main_reaped = true;
	result->main_status = status;
	session->main = 0;
	ebbi_tree_rescan(&session->tree, ebbi_lab_now());
	if (clean && session->phases.phase == PHASE_BOOT && session->tree.count > 0 && !session->phases.stop_asked) {
		session->main = oldest(&session->tree);
		session->adopted = true;
		result->main_reaped = false;
		ebbi_result_note(result, "the command went into the background: followed process %d instead",
				 (int)session->main);
		return;
	}
	ebbi_phases_main_ended(&session->phases);
	if (session->tree.count == 0)
		ebbi_phases_all_ended(&session->phases);
}

static void prober_ended(struct session *session, int status)
{
	session->prober = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == ANSWER_YES) {
		session->result->ready_ns = ebbi_lab_now() - session->start_ns;
		ebbi_phases_ready(&session->phases);
	}
}

static bool is_tap(struct session *session, pid_t pid)
{
	for (int i = 0; i < TAPS; i++) {
		if (session->taps[i] == pid) {
			session->taps[i] = 0;
			return true;
		}
	}
	return false;
}

static void reap(struct session *session)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (pid == session->prober) {
			prober_ended(session, status);
		} else if (pid == session->guard) {
			session->guard = 0;
		} else if (!is_tap(session, pid) && !ebbi_tree_is_excluded(&session->tree, pid)) {
			account(session, &usage);
			ebbi_tree_drop(&session->tree, pid);
			if (pid == session->main)
				main_ended(session, status);
		}
	}
}

/* Once the main process is gone: those left are told to end, and their end is the end. */
static void watch_leftovers(struct session *session)
{
	if (session->main > 0)
		return;
	ebbi_tree_rescan(&session->tree, ebbi_lab_now());
	if (session->tree.count == 0) {
		ebbi_phases_all_ended(&session->phases);
		return;
	}
	if (session->phases.kill_sent) {
		ebbi_events_signal_tree(session, SIGKILL);
	} else if (!session->leftovers_told) {
		session->leftovers_told = true;
		ebbi_events_signal_tree(session, SIGTERM);
	}
}

/* --- Signals ----------------------------------------------------------------------------- */

/* Whether a signal that means "the end" is ours to act on: an interactive command decides itself. */
static bool ends_experiment(const struct session *session)
{
	return session->plan->ends_by_interrupt || session->plan->load_command || session->adopted ||
	       (session->plan->ready.kind != READY_IDLE && session->phases.phase == PHASE_BOOT);
}

static void on_signal(struct session *session, const struct signalfd_siginfo *info)
{
	int signal_number = (int)info->ssi_signo;
	/* The terminal has given it to the whole foreground group already. */
	bool from_terminal = info->ssi_code == SI_KERNEL;

	if (signal_number == SIGCHLD)
		return;
	if (session->main > 0 && !from_terminal)
		kill(session->main, signal_number);
	switch (signal_number) {
	case SIGTERM:
		session->result->stop_signal = SIGTERM;
		ebbi_phases_stop(&session->phases, /* term_sent= */ true);
		break;
	case SIGINT:
	case SIGQUIT:
		if (!ends_experiment(session))
			break;
		session->result->stop_signal = signal_number;
		ebbi_phases_stop(&session->phases, /* term_sent= */ false);
		break;
	case SIGHUP:
		/* The terminal is gone, and with it whoever would read the table. */
		if (from_terminal) {
			session->result->stop_signal = SIGHUP;
			ebbi_phases_stop(&session->phases, /* term_sent= */ false);
		}
		break;
	default:
		break;
	}
}

static void read_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signal_fd, &info, sizeof(info)) == sizeof(info))
		on_signal(session, &info);
	reap(session);
}

/* --- Pipes ------------------------------------------------------------------------------- */

static void read_seen(struct session *session)
{
	char byte;

	if (read(session->seen_fd, &byte, 1) == 1 && !session->phases.ready) {
		session->result->ready_ns = ebbi_lab_now() - session->start_ns;
		ebbi_phases_ready(&session->phases);
	}
	close(session->seen_fd);
	session->seen_fd = -1;
}

static void read_report(struct session *session)
{
	struct load_report report = {.status = 127 << 8};

	/* The guard died with no word: as if there had been no shell. */
	if (read(session->report_fd, &report, sizeof(report)) != sizeof(report))
		report.status = 127 << 8;
	close(session->report_fd);
	session->report_fd = -1;
	session->result->load_ns = ebbi_lab_now() - session->load_started_ns;
	session->result->load_status = report.status;
	ebbi_phases_load_ended(&session->phases, report.status != 0);
}

void ebbi_events_wait(struct session *session, uint64_t until_ns)
{
	uint64_t now_ns = ebbi_lab_now();
	struct pollfd wait_for[] = {
		{.fd = session->signal_fd, .events = POLLIN},
		{.fd = session->seen_fd, .events = POLLIN},
		{.fd = session->report_fd, .events = POLLIN},
	};
	/* Rounded up: a millisecond late beats a loop that finds nothing to do. */
	int wait_ms = until_ns <= now_ns ? 0 : (int)((until_ns - now_ns + MS - 1) / MS);

	if (poll(wait_for, 3, wait_ms) < 0)
		return;
	if (wait_for[2].revents != 0)
		read_report(session);
	if (wait_for[1].revents != 0)
		read_seen(session);
	if (wait_for[0].revents != 0)
		read_signals(session);
	if (session->phases.phase == PHASE_STOP)
		watch_leftovers(session);
}
