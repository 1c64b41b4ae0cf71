#include "lab/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lab/spawn.h"
#include "lab/textscan.h"
#include "lab/workscan.h"

static void keep_tail(struct tapped *tapped, const char *bytes, size_t length)
{
	size_t fresh = length < TAP_TAIL ? length : TAP_TAIL;
	size_t kept = tapped->tail_length < TAP_TAIL - fresh ? tapped->tail_length : TAP_TAIL - fresh;

	memmove(tapped->tail, tapped->tail + tapped->tail_length - kept, kept);
	memcpy(tapped->tail + kept, bytes + length - fresh, fresh);
	tapped->tail_length = kept + fresh;
}

static void scan_work(struct workscan *scan, struct tapped *tapped)
{
	tapped->has_work = scan->found;
	tapped->work = scan->work;
}

__attribute__((noreturn)) static void tap_main(const struct tap_plan *plan, int from_fd)
{
	char bytes[65536];
	struct textscan text;
	struct workscan work;
	bool looking = plan->text != NULL;
	bool counting = plan->work && ebbi_workscan_start(&work, plan->work) == 0;
	ssize_t got;

	/* Ours to keep quiet: the command decides what the terminal's signals mean. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (looking)
		ebbi_textscan_start(&text, plan->text);
	while ((got = read(from_fd, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR)) {
		size_t length = got > 0 ? (size_t)got : 0;

		/* The reader has gone: so do we, and the command gets its SIGPIPE as without us. */
		if (plan->to_fd >= 0 && !ebbi_write_all(plan->to_fd, bytes, length))
			break;
		if (plan->tapped)
			keep_tail(plan->tapped, bytes, length);
		if (counting) {
			ebbi_workscan_feed(&work, bytes, length);
			scan_work(&work, plan->tapped);
		}
		if (looking && ebbi_textscan_feed(&text, bytes, length)) {
			looking = false;
			ebbi_write_all(plan->seen_fd, "", 1);
			close(plan->seen_fd);
		}
	}
	if (counting) {
		ebbi_workscan_end(&work);
		scan_work(&work, plan->tapped);
	}
	_exit(0);
}

int ebbi_tap_spawn(const struct tap_plan *plan, pid_t *ret_tap, int *ret_fd)
{
	int pipe_fd[2];
	pid_t tap;

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return -errno;
	tap = fork();
	if (tap == 0) {
		close(pipe_fd[1]);
		tap_main(plan, pipe_fd[0]);
	}
	close(pipe_fd[0]);
	if (tap < 0) {
		close(pipe_fd[1]);
		return -errno;
	}
	*ret_tap = tap;
	*ret_fd = pipe_fd[1];
	return 0;
}
