/* Fresh runs one after another, from one process: results that outlive the runs, signals, a measurer that dies. */
#include "lab/trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define MS 1000000ull

static char *const sleeper[] = {"sleep", "100", NULL};

static struct experiment_plan plan_of(char *const *argv)
{
	return (struct experiment_plan){
		.label = "test",
		.argv = argv,
		.ready_timeout_ns = 10000 * MS,
		.rest_ns = 50 * MS,
		.grace_ns = 1000 * MS,
		.quiet = true,
		.ends_by_interrupt = true,
	};
}

static int run(struct experiment_plan *plan, struct trials *trials, struct trial **ret_trial, char *message, int *code)
{
	*ret_trial = NULL;
	return ebbi_trial_run(trials, plan, ret_trial, message, code);
}

TEST(two_runs_and_their_results)
{
	struct experiment_plan plan = plan_of(sleeper);
	struct trials trials;
	struct trial *both[2];
	char message[LAB_MESSAGE] = "";
	int code = 0;

	plan.load_command = "echo served 7; echo oops >&2";
	plan.work = "served ([0-9]+)";
	CHECK_EQ(ebbi_trials_begin(&trials, message, &code), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(run(&plan, &trials, &both[i], message, &code), 0);
	CHECK_EQ(ebbi_trials_stopped(&trials), 0);
	ebbi_trials_end(&trials);
	for (int i = 0; i < 2; i++) {
		const struct run_result *result = &both[i]->result;

		ebbi_trial_rest(both[i]);
		CHECK_EQ(result->outcome, OUTCOME_COMPLETE);
		CHECK(result->has_work && result->work == 7);
		CHECK(result->rest[0].taken);
		CHECK(result->full_look.look == &both[i]->look);
		CHECK(strcmp(both[i]->look.command, "sleep") == 0);
		CHECK(strcmp(result->load_tail, "served 7\noops\n") == 0);
		ebbi_trial_free(both[i]);
	}
}

static int count(void *context)
{
	*(int *)context += 41;
	return 0;
}

TEST(a_load_of_our_own)
{
	struct experiment_plan plan = plan_of(sleeper);
	int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct trials trials;
	struct trial *trial;
	char message[LAB_MESSAGE];
	int code;

	CHECK(shared != MAP_FAILED);
	*shared = 1;
	plan.load_command = "a function";
	plan.load_function = count;
	plan.load_context = shared;
	CHECK_EQ(ebbi_trials_begin(&trials, message, &code), 0);
	CHECK_EQ(run(&plan, &trials, &trial, message, &code), 0);
	ebbi_trials_end(&trials);
	CHECK_EQ(trial->result.outcome, OUTCOME_COMPLETE);
	CHECK_EQ(*shared, 42);
	ebbi_trial_free(trial);
	munmap(shared, sizeof(*shared));
}

TEST(a_command_that_is_not_there)
{
	char *const argv[] = {"/nowhere/at/all", NULL};
	struct experiment_plan plan = plan_of(argv);
	struct trials trials;
	struct trial *trial;
	char message[LAB_MESSAGE];
	int code;

	CHECK_EQ(ebbi_trials_begin(&trials, message, &code), 0);
	CHECK_EQ(run(&plan, &trials, &trial, message, &code), -ENOENT);
	ebbi_trials_end(&trials);
	CHECK_EQ(code, EXIT_NOT_FOUND);
	CHECK(strstr(message, "/nowhere/at/all") != NULL);
}

/* The load kills the process that measures: the command must not be left behind. */
TEST(a_measurer_that_dies)
{
	struct experiment_plan plan = plan_of(sleeper);
	struct trials trials;
	struct trial *trial;
	char message[LAB_MESSAGE];
	char load[256];
	int code;

	snprintf(load, sizeof(load), "echo $EBB_PID > /tmp/ebb-trials.%d; kill -9 $(cut -d' ' -f4 /proc/$EBB_PID/stat)",
		 (int)getpid());
	plan.load_command = load;
	CHECK_EQ(ebbi_trials_begin(&trials, message, &code), 0);
	CHECK_EQ(run(&plan, &trials, &trial, message, &code), -EIO);
	ebbi_trials_end(&trials);
	CHECK_EQ(code, EXIT_SELF);
	CHECK(strstr(message, "SIGKILL") != NULL);
	snprintf(load, sizeof(load),
		 "read pid < /tmp/ebb-trials.%d && ! kill -0 $pid 2>/dev/null; r=$?; rm -f /tmp/ebb-trials.%d; exit $r",
		 (int)getpid(), (int)getpid());
	CHECK_EQ(system(load), 0); /* NOLINT(cert-env33-c): a test's own shell */
}

TEST(a_signal_ends_the_run_and_the_series)
{
	struct experiment_plan plan = plan_of(sleeper);
	struct trials trials;
	struct trial *trial;
	char message[LAB_MESSAGE];
	char load[64];
	int code;

	snprintf(load, sizeof(load), "kill -INT %d; sleep 5", (int)getpid());
	plan.load_command = load;
	CHECK_EQ(ebbi_trials_begin(&trials, message, &code), 0);
	CHECK_EQ(run(&plan, &trials, &trial, message, &code), 0);
	CHECK_EQ(trial->result.outcome, OUTCOME_INTERRUPTED);
	CHECK(trial->result.boot.taken);
	CHECK_EQ(ebbi_trials_stopped(&trials), SIGINT);
	ebbi_trials_end(&trials);
	ebbi_trial_free(trial);
}

int main(void)
{
	RUN(two_runs_and_their_results);
	RUN(a_load_of_our_own);
	RUN(a_command_that_is_not_there);
	RUN(a_measurer_that_dies);
	RUN(a_signal_ends_the_run_and_the_series);
	return check_report();
}
