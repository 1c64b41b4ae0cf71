#include "lab/trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/session.h"

#define LEFTOVER_LOOKS 100

static const int watched_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static int complain(int error, char *ret_message, int *ret_exit)
{
	snprintf(ret_message, LAB_MESSAGE, "cannot start a process: %s", strerror(-error));
	*ret_exit = EXIT_SELF;
	return error;
}

int ebbi_trials_begin(struct trials *ret_trials, char *ret_message, int *ret_exit)
{
	struct trials *trials = ret_trials;
	int error;

	*trials = (struct trials){0};
	ebbi_tree_init(&trials->tree, getpid());
	error = ebbi_tree_exclude_all(&trials->tree);
	if (error != 0) {
		snprintf(ret_message, LAB_MESSAGE, "/proc cannot be read (%s): ebb needs it mounted", strerror(-error));
		*ret_exit = EXIT_MEASURE;
		return error;
	}
	sigemptyset(&trials->watched);
	for (size_t i = 0; i < sizeof(watched_signals) / sizeof(watched_signals[0]); i++)
		sigaddset(&trials->watched, watched_signals[i]);
	/* A parent may have left SIGCHLD ignored: then nobody could be waited for. */
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (sigprocmask(SIG_BLOCK, &trials->watched, &trials->old_mask) != 0)
		return complain(-errno, ret_message, ret_exit);
	return 0;
}

static void note_signal(struct trials *trials, int signal_number)
{
	if (signal_number != SIGCHLD && signal_number != SIGUSR1 && signal_number != SIGUSR2)
		trials->stop_signal = signal_number;
}

int ebbi_trials_stopped(struct trials *trials)
{
	const struct timespec none = {0};
	int signal_number;

	while ((signal_number = sigtimedwait(&trials->watched, NULL, &none)) > 0)
		note_signal(trials, signal_number);
	return trials->stop_signal;
}

void ebbi_trials_end(struct trials *trials)
{
	ebbi_trials_stopped(trials);
	sigprocmask(SIG_SETMASK, &trials->old_mask, NULL);
	ebbi_tree_free(&trials->tree);
}

/* --- One run ----------------------------------------------------------------------------- */

__attribute__((noreturn)) static void child_main(const struct trials *trials, pid_t parent,
						 const struct experiment_plan *plan, struct trial *trial)
{
	/* Without us nobody would read the result: the run ends in order. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_SELF);
	sigprocmask(SIG_SETMASK, &trials->old_mask, NULL);
	trial->error = ebbi_experiment_run(plan, &trial->result, trial->message, &trial->exit);
	if (trial->result.full_look.look) {
		trial->look = *trial->result.full_look.look;
		trial->result.full_look.look = &trial->look;
	}
	trial->done = true;
	_exit(0);
}

static int wait_for(struct trials *trials, pid_t child)
{
	siginfo_t info;
	int status = 0;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (sigwaitinfo(&trials->watched, &info) <= 0)
			continue;
		note_signal(trials, info.si_signo);
		/* The terminal has given it to the whole foreground group already. */
		if (info.si_signo != SIGCHLD && info.si_code != SI_KERNEL)
			kill(child, info.si_signo);
	}
	return status;
}

/* One that measured and died has left its command to us: it would be in the way of the next run. */
static void end_orphans(struct trials *trials)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	for (int i = 0; i < LEFTOVER_LOOKS; i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (ebbi_tree_rescan(&trials->tree, ebbi_lab_now()) != 0 || trials->tree.count == 0)
			break;
		for (size_t k = 0; k < trials->tree.count; k++)
			kill(trials->tree.processes[k].pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
}

/* What the end of the process that measured means. */
static int judge(const struct trials *trials, const struct trial *trial, int status, char *ret_message, int *ret_exit)
{
	if (trial->done) {
		memcpy(ret_message, trial->message, LAB_MESSAGE);
		*ret_exit = trial->exit;
		return trial->error;
	}
	if (trials->stop_signal) {
		snprintf(ret_message, LAB_MESSAGE, "interrupted (SIG%s) before there was a result",
			 sigabbrev_np(trials->stop_signal));
		*ret_exit = 128 + trials->stop_signal;
		return -EINTR;
	}
	if (WIFSIGNALED(status))
		snprintf(ret_message, LAB_MESSAGE,
			 "the process that measures was killed by SIG%s: nothing is known of this run%s",
			 sigabbrev_np(WTERMSIG(status)),
			 WTERMSIG(status) == SIGKILL ? " (was memory short? see dmesg)" : "");
	else
		snprintf(ret_message, LAB_MESSAGE,
			 "the process that measures ended with exit %d: nothing is known of this run",
			 WEXITSTATUS(status));
	*ret_exit = EXIT_SELF;
	return -EIO;
}

int ebbi_trial_run(struct trials *trials, const struct experiment_plan *plan, struct trial **ret_trial,
		   char *ret_message, int *ret_exit)
{
	struct trial *trial = mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid();
	pid_t child;
	int error;

	if (trial == MAP_FAILED)
		return complain(-errno, ret_message, ret_exit);
	fflush(NULL);
	child = fork();
	if (child == 0)
		child_main(trials, parent, plan, trial);
	if (child < 0) {
		error = complain(-errno, ret_message, ret_exit);
	} else {
		int status = wait_for(trials, child);

		error = judge(trials, trial, status, ret_message, ret_exit);
		end_orphans(trials);
	}
	if (error != 0)
		ebbi_trial_free(trial);
	else
		*ret_trial = trial;
	return error;
}

int ebbi_trials_helper(struct trials *trials, void (*function)(void *context), void *context)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		sigprocmask(SIG_SETMASK, &trials->old_mask, NULL);
		function(context);
		_exit(0);
	}
	return wait_for(trials, child);
}

void ebbi_trial_rest(struct trial *trial)
{
	madvise(trial, sizeof(*trial), MADV_DONTNEED);
}

void ebbi_trial_free(struct trial *trial)
{
	if (trial)
		munmap(trial, sizeof(*trial));
}
