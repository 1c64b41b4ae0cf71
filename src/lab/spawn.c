#include "lab/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/procread.h"

/* What the child tells before exec, and again when exec has failed. */
struct child_report {
	int exec_errno;
	uint64_t floor_bytes;
};

static void close_quietly(int fd)
{
	if (fd >= 0)
		close(fd);
}

static ssize_t read_some(int fd, void *ret_bytes, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, ret_bytes, size);
	} while (got < 0 && errno == EINTR);
	return got;
}

bool ebbi_write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t put = write(fd, bytes, length);

		if (put < 0 && errno != EINTR)
			return false;
		if (put > 0) {
			bytes += put;
			length -= (size_t)put;
		}
	}
	return true;
}

static void set_variables(const struct environment *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		setenv(environment->variables[i].name, environment->variables[i].value, 1);
}

__attribute__((noreturn)) static void command_child(const struct spawn_plan *plan, int report_fd)
{
	struct child_report report = {0};
	struct proc_status status;

	if (plan->stdout_fd >= 0)
		dup2(plan->stdout_fd, STDOUT_FILENO);
	if (plan->stderr_fd >= 0)
		dup2(plan->stderr_fd, STDERR_FILENO);
	set_variables(plan->environment);
	if (ebbi_proc_status(getpid(), &status) == 0)
		report.floor_bytes = status.hwm_bytes;
	(void)ebbi_write_all(report_fd, (const char *)&report, sizeof(report));
	sigprocmask(SIG_SETMASK, plan->mask, NULL);
	execvp(plan->argv[0], plan->argv);
	report.exec_errno = errno;
	(void)ebbi_write_all(report_fd, (const char *)&report, sizeof(report));
	_exit(127);
}

int ebbi_spawn_command(const struct spawn_plan *plan, struct spawned *ret_spawned)
{
	struct spawned spawned = {0};
	struct child_report report;
	int pipe_fd[2];

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return -errno;
	spawned.pid = fork();
	if (spawned.pid == 0)
		command_child(plan, pipe_fd[1]);
	close(pipe_fd[1]);
	/* Ends with the exec, which closes the child's end, or after the second report. */
	while (spawned.pid > 0 && read_some(pipe_fd[0], &report, sizeof(report)) == sizeof(report)) {
		spawned.floor_bytes = report.floor_bytes;
		spawned.exec_errno = report.exec_errno;
	}
	close(pipe_fd[0]);
	if (spawned.pid < 0)
		return -errno;
	*ret_spawned = spawned;
	return 0;
}

/* --- The load ---------------------------------------------------------------------------- */

__attribute__((noreturn)) static void load_child(const struct load_plan *plan)
{
	int null_fd = open("/dev/null", O_RDONLY);

	/* A group of its own, so that the guard can end all of it; hence no terminal to read. */
	setpgid(0, 0);
	dup2(null_fd, STDIN_FILENO);
	if (plan->stdout_fd >= 0)
		dup2(plan->stdout_fd, STDOUT_FILENO);
	if (plan->stderr_fd >= 0)
		dup2(plan->stderr_fd, STDERR_FILENO);
	set_variables(plan->environment);
	sigprocmask(SIG_SETMASK, plan->mask, NULL);
	if (plan->function)
		_exit(plan->function(plan->context));
	execl("/bin/sh", "sh", "-c", plan->command, (char *)NULL);
	_exit(127);
}

/* Ends whatever has no other parent than the guard; false when nobody is left. */
static bool kill_children(int signal_number)
{
	char path[64];
	char bytes[4096];
	struct text text;
	uint64_t pid;
	bool any = false;
	ssize_t length;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	length = ebbi_read_file(path, bytes, sizeof(bytes));
	text = ebbi_text(bytes, length > 0 ? (size_t)length : 0);
	while (ebbi_text_decimal(&text, &pid)) {
		kill((pid_t)pid, signal_number);
		any = true;
	}
	return any;
}

/* SIGTERM to what the load left running, SIGKILL to what is there half a second later. */
static void end_leftovers(pid_t group)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	int signal_number = SIGTERM;

	kill(-group, SIGTERM);
	for (int i = 0; i < 50 && kill_children(signal_number); i++) {
		nanosleep(&pause, NULL);
		signal_number = i < 25 ? 0 : SIGKILL;
		if (i >= 25)
			kill(-group, SIGKILL);
	}
}

/* Waits until a child has ended or the launcher has closed its end, also by dying; true then. */
static bool guard_waits(int hold_fd, int signal_fd)
{
	struct pollfd wait_for[2] = {{.fd = hold_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	if (poll(wait_for, 2, -1) > 0 && wait_for[1].revents != 0)
		(void)!read(signal_fd, &info, sizeof(info));
	return wait_for[0].revents != 0;
}

__attribute__((noreturn)) static void guard_main(const struct load_plan *plan, int report_fd, int hold_fd)
{
	struct load_report report = {.status = 127 << 8};
	sigset_t child_signal;
	bool reported = false;
	int signal_fd;
	pid_t shell;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child_signal);
	sigaddset(&child_signal, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_signal, NULL);
	signal_fd = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);
	shell = fork();
	if (shell == 0)
		load_child(plan);
	if (shell > 0)
		setpgid(shell, shell);
	do {
		bool ended = shell < 0;
		int status;
		pid_t child;

		while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
			ended = ended || child == shell;
			if (child == shell)
				report.status = status;
		}
		if (ended && !reported) {
			(void)ebbi_write_all(report_fd, (const char *)&report, sizeof(report));
			reported = true;
		}
	} while (!guard_waits(hold_fd, signal_fd));
	if (shell > 0)
		end_leftovers(shell);
	_exit(0);
}

int ebbi_spawn_load(const struct load_plan *plan, pid_t *ret_guard, int *ret_report_fd, int *ret_hold_fd)
{
	int report_fd[2] = {-1, -1};
	int hold_fd[2] = {-1, -1};
	pid_t guard = -1;

	if (pipe2(report_fd, O_CLOEXEC) == 0 && pipe2(hold_fd, O_CLOEXEC) == 0)
		guard = fork();
	if (guard == 0) {
		close(report_fd[0]);
		close(hold_fd[1]);
		guard_main(plan, report_fd[1], hold_fd[0]);
	}
	close_quietly(report_fd[1]);
	close_quietly(hold_fd[0]);
	if (guard < 0) {
		int error = -errno;

		close_quietly(report_fd[0]);
		close_quietly(hold_fd[1]);
		return error;
	}
	*ret_guard = guard;
	*ret_report_fd = report_fd[0];
	*ret_hold_fd = hold_fd[1];
	return 0;
}
