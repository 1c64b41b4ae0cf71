/*
 * A set-user-id program. `secure` (as root) makes a copy of itself that belongs to root, and runs the
 * copy as somebody else with LD_PRELOAD and EBB_CONF set: the loader must ignore the preload, and a
 * library that is linked must ignore the variable.
 *   secure [linked]
 */
#include "check.h"

#include <grp.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SOMEBODY 61234

static void copy_self(const char *path)
{
	static char bytes[1 << 20];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t got;

	CHECK(from >= 0 && to >= 0, "cannot copy to %s", path);
	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		CHECK(write(to, bytes, (size_t)got) == got, "write");
	CHECK(fchmod(to, 04755) == 0, "chmod");
	close(to);
	close(from);
}

static int run_copy(char *path, char *mode)
{
	char inner[] = "inner";
	char *arguments[] = {path, inner, mode, NULL};
	int status;
	pid_t child = fork();

	CHECK(child >= 0, "fork");
	if (child == 0) {
		CHECK(setgroups(0, NULL) == 0 && setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0, "setuid");
		/* Whatever EBB_CONF is answered with would be seen on stderr. */
		setenv("EBB_CONF", "stats:1,colour:blue", 1);
		execv(path, arguments);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	return status;
}

static void inner(const char *mode)
{
	CHECK(getauxval(AT_SECURE) == 1, "not in secure mode (is /tmp mounted nosuid?)");
	CHECK(check_on_ebb() == (strcmp(mode, "linked") == 0), "preload in secure mode");
	for (size_t i = 1; i < 100000; i += 97)
		free(hide(malloc(i)));
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/ebb-secure-XXXXXX";
	char preload[] = "preload";
	char path[64];

	if (argc > 2 && strcmp(argv[1], "inner") == 0) {
		inner(argv[2]);
		return 0;
	}
	CHECK(geteuid() == 0, "this test makes a set-user-id file and so must be run by root");
	check_allocator();
	CHECK(mkdtemp(directory) != NULL && chmod(directory, 0755) == 0, "mkdtemp");
	snprintf(path, sizeof(path), "%s/copy", directory);
	copy_self(path);
	int status = run_copy(path, argc > 1 ? argv[1] : preload);
	unlink(path);
	rmdir(directory);
	CHECK(status == 0, "the set-user-id copy's status is 0x%x", (unsigned)status);
	return 0;
}
