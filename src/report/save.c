#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/run_json.h"

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t put = write(fd, bytes, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		bytes += put;
		length -= (size_t)put;
	}
	return 0;
}

/* The file behind a symbolic link, so that the link stays; a path that does not exist is itself. */
static int resolve(const char *path, char *ret_real, bool *ret_special)
{
	struct stat file;

	*ret_special = false;
	if (stat(path, &file) != 0) {
		if (strlen(path) >= PATH_MAX)
			return -ENAMETOOLONG;
		strcpy(ret_real, path);
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(file.st_mode))
		return -EISDIR;
	*ret_special = !S_ISREG(file.st_mode);
	return realpath(path, ret_real) ? 0 : -errno;
}

static int save_directly(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	int error;

	if (fd < 0)
		return -errno;
	error = write_all(fd, bytes, length);
	if (close(fd) != 0 && error == 0)
		error = -errno;
	return error;
}

static int save_beside(const char *path, const char *bytes, size_t length)
{
	char temporary[PATH_MAX + 16];
	mode_t mask = umask(0);
	int fd, error;

	umask(mask);
	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = write_all(fd, bytes, length);
	/* mkostemp makes it private; a result is an ordinary file. */
	if (error == 0 && (fchmod(fd, 0666 & ~mask) != 0 || fsync(fd) != 0))
		error = -errno;
	if (close(fd) != 0 && error == 0)
		error = -errno;
	if (error == 0 && rename(temporary, path) != 0)
		error = -errno;
	if (error != 0)
		unlink(temporary);
	return error;
}

int ebbi_save_check(const char *path)
{
	char real[PATH_MAX];
	char directory[PATH_MAX];
	bool special;
	int error = resolve(path, real, &special);

	if (error != 0)
		return error;
	if (special)
		return access(real, W_OK) == 0 ? 0 : -errno;
	strcpy(directory, real);
	return access(dirname(directory), W_OK | X_OK) == 0 ? 0 : -errno;
}

int ebbi_save(const char *path, const void *bytes, size_t length)
{
	char real[PATH_MAX];
	bool special;
	int error = resolve(path, real, &special);

	if (error != 0)
		return error;
	return special ? save_directly(real, bytes, length) : save_beside(real, bytes, length);
}
