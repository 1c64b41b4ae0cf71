#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab/session.h"
#include "observe/text.h"

static int map_tapped(struct session *session)
{
	void *mapping;

	if (session->tapped)
		return 0;
	mapping = mmap(NULL, TAPS * sizeof(struct tapped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	session->tapped = mapping;
	return 0;
}

static int open_tap(struct session *session, int index, const struct tap_plan *plan, int *ret_fd)
{
	struct tap_plan tap = *plan;
	int error;

	tap.to_fd = session->plan->quiet                                 ? -1
		    : index % 2 == 0 && !session->plan->stdout_to_stderr ? STDOUT_FILENO
									 : STDERR_FILENO;
	tap.tapped = &session->tapped[index];
	error = ebbi_tap_spawn(&tap, &session->taps[index], ret_fd);
	if (error == 0)
		ebbi_tree_exclude(&session->tree, session->taps[index]);
	return error;
}

int ebbi_output_open(struct session *session, int which, int ret_fds[2])
{
	const struct experiment_plan *plan = session->plan;
	bool reads_log = which == TAP_COMMAND && plan->ready.kind == READY_LOG;
	bool reads_work = which == TAP_LOAD && plan->work;
	struct tap_plan tap = {.text = reads_log ? plan->ready.target : NULL, .work = reads_work ? plan->work : NULL};
	int seen_fds[2] = {-1, -1};
	int error;

	ret_fds[0] = plan->stdout_to_stderr ? STDERR_FILENO : -1;
	ret_fds[1] = -1;
	if (!plan->quiet && !reads_log && !reads_work)
		return 0;
	error = map_tapped(session);
	if (error == 0 && reads_log && pipe2(seen_fds, O_CLOEXEC) != 0)
		error = -errno;
	tap.seen_fd = seen_fds[1];
	for (int i = 0; i < 2 && error == 0; i++)
		error = open_tap(session, which + i, &tap, &ret_fds[i]);
	if (seen_fds[1] >= 0)
		close(seen_fds[1]);
	if (reads_log)
		session->seen_fd = seen_fds[0];
	return error;
}

void ebbi_output_close(struct session *session, int which, const int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (session->taps[which + i] > 0 && fds[i] > STDERR_FILENO)
			close(fds[i]);
	}
}

/* The end of stdout and of stderr, one after the other: in which order they came, nobody knows. */
static void join_tails(const struct tapped *tapped, char ret_tail[RESULT_TAIL])
{
	size_t from_err = tapped[1].tail_length;
	size_t room = RESULT_TAIL - 1 - from_err;
	size_t from_out = tapped[0].tail_length < room ? tapped[0].tail_length : room;

	memcpy(ret_tail, tapped[0].tail + tapped[0].tail_length - from_out, from_out);
	memcpy(ret_tail + from_out, tapped[1].tail, from_err);
	ret_tail[from_out + from_err] = 0;
}

void ebbi_output_conclude(struct session *session)
{
	struct run_result *result = session->result;
	const struct tapped *tapped = session->tapped;

	if (!tapped)
		return;
	for (int i = TAP_LOAD; i < TAPS && !result->has_work; i++) {
		result->has_work = tapped[i].has_work;
		result->work = tapped[i].work;
	}
	if (session->plan->quiet) {
		join_tails(&tapped[TAP_COMMAND], result->command_tail);
		join_tails(&tapped[TAP_LOAD], result->load_tail);
	}
	munmap(session->tapped, TAPS * sizeof(struct tapped));
	session->tapped = NULL;
	if (session->plan->work && result->load_ran && !result->has_work)
		ebbi_result_note(result, "no line of the load's output matches --work: what it served is not known");
}
