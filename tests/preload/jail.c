/*
 * jail.c: locks itself in an empty directory, gives its rights away, and works there.
 *
 *   jail DIRECTORY [UID]
 *
 * chroot, then (with UID) setgid and setuid, then threads and a forked child that allocate: no /proc, no
 * libraries, no device is there to be opened. Prints `jail faults=N child=N`; exit 3 when chroot is refused.
 */
#include "work.h"
#include <errno.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	unsigned long faults;
	int status = -1;
	pid_t child;

	if (argc < 2)
		return 2;
	if (chroot(argv[1]) != 0 || chdir("/") != 0)
		return 3;
	if (argc > 2) {
		unsigned long id = strtoul(argv[2], NULL, 10);

		if (setgid((gid_t)id) != 0 || setuid((uid_t)id) != 0)
			return 3;
	}
	if (access("/proc", F_OK) == 0 || errno != ENOENT)
		return 4;
	faults = work_in_threads(4);
	sleep(2); /* time to give memory back, in here */
	faults += work_in_threads(4);
	child = fork();
	if (child == 0)
		_exit(work_in_threads(3) == 0 ? 0 : 1);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 5;
	printf("jail faults=%lu child=%d\n", faults, status);
	return 0;
}
