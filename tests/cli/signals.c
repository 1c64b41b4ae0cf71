/*
 * signals: prints the name of every signal it gets, and ends with 42 at SIGTERM. Says "up" first.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;
	int got;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	alarm(30);
	puts("up");
	fflush(stdout);
	while (sigwait(&set, &got) == 0) {
		printf("%s\n", sigabbrev_np(got));
		fflush(stdout);
		if (got == SIGTERM)
			return 42;
	}
	return 1;
}
