#include "lab/evict.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that the walk may hold open. */
#define WALK_DEPTH 16

/* nftw hands no context on; one walk at a time. */
static int first_error;

static int visit(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	int fd, error = 0;

	(void)where;
	if (kind == FTW_DNR || kind == FTW_NS)
		error = -EACCES;
	if (kind == FTW_F && S_ISREG(status->st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		error = fd < 0 ? -errno : 0;
		/* Dirty pages are not dropped. */
		if (fd >= 0 && (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
			error = -errno;
		if (fd >= 0)
			close(fd);
	}
	if (error != 0 && error != -ENOENT && first_error == 0)
		first_error = error;
	return 0;
}

int ebbi_evict(const char *path)
{
	first_error = 0;
	if (nftw(path, visit, WALK_DEPTH, FTW_PHYS | FTW_MOUNT) != 0)
		return -errno;
	return first_error;
}
