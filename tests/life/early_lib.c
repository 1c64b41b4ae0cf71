#include "check.h"

#include <sys/wait.h>

#include "early_lib.h"

static char *text;
static void *kept;
static int prepared;
static int resumed;

static void *allocate_some(size_t size)
{
	uint8_t *block = hide(malloc(size));

	CHECK(block != NULL, "malloc in a fork handler");
	memset(block, 3, size);
	return block;
}

/* Handlers registered before the allocator's run while it is ready for the fork: see fork(3p). */
static void prepare(void)
{
	kept = allocate_some(3000);
	free(allocate_some(100));
	free(allocate_some(200000));
	prepared++;
}

static void resume(void)
{
	free(kept);
	free(allocate_some(50));
	free(allocate_some(300000));
	resumed++;
}

__attribute__((constructor(101))) static void early_constructor(void)
{
	text = strdup("made in a constructor");
	pthread_atfork(prepare, resume, resume);
}

__attribute__((destructor)) static void early_destructor(void)
{
	char *last = hide(malloc(10));

	free(last);
}

char *early_text(void)
{
	return text;
}

void early_check(void)
{
	int status;
	int before = prepared;

	for (int i = 0; i < 10; i++) {
		pid_t child = fork();

		CHECK(child >= 0, "fork");
		if (child == 0) {
			free(allocate_some(77));
			_exit(prepared - before == i + 1 && resumed == prepared ? 0 : 9);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0, "child: 0x%x", (unsigned)status);
	}
}
