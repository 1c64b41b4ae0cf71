#include "cli/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/options.h"

#define PROPERTIES "LoadState,MainPID,Environment,UnsetEnvironment,RootDirectory,RootImage,ProtectHome,PrivateTmp"

int ebbi_unit_name(const char *given, char *ret_name, size_t size, char *ret_message)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.@\\-";
	static const char suffix[] = ".service";
	size_t length = strlen(given);
	bool whole = length > sizeof(suffix) - 1 && strcmp(given + length - (sizeof(suffix) - 1), suffix) == 0;

	if (length == 0 || given[0] == '-' || strspn(given, allowed) != length || length + sizeof(suffix) > size) {
		snprintf(ret_message, OPTIONS_MESSAGE,
			 "'%.200s' is no process and no service: write a number, or a name as in systemctl status NAME",
			 given);
		return -EINVAL;
	}
	snprintf(ret_name, size, "%s%s", given, whole ? "" : suffix);
	return 0;
}

static void show(const char *name, int to_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(to_fd, STDOUT_FILENO);
	execlp("systemctl", "systemctl", "show", "--no-pager", "-p", PROPERTIES, "--", name, (char *)NULL);
	_exit(127);
}

/* What the child writes, up to `size` - 1 bytes; 0 when it exits with 0. */
static int collect(const char *name, char *ret_text, size_t size)
{
	int fds[2], status = -1;
	size_t length = 0;
	ssize_t got;
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		show(name, fds[1]);
	close(fds[1]);
	while (child > 0 && (got = read(fds[0], ret_text + length, size - 1 - length)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	ret_text[length] = 0;
	close(fds[0]);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -ECHILD;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOENT;
}

int ebbi_unit_read(const char *given, struct unit *ret_unit, char *ret_message)
{
	char loaded[32];
	int error = ebbi_unit_name(given, ret_unit->name, sizeof(ret_unit->name), ret_message);

	if (error != 0)
		return error;
	error = collect(ret_unit->name, ret_unit->text, sizeof(ret_unit->text));
	if (error != 0) {
		snprintf(ret_message, OPTIONS_MESSAGE,
			 "%.200s: systemctl does not answer here: give the number of its process, as pgrep prints it",
			 ret_unit->name);
		return -ENOENT;
	}
	ebbi_unit_property(ret_unit, "LoadState", loaded, sizeof(loaded));
	if (strcmp(loaded, "loaded") == 0)
		return 0;
	snprintf(ret_message, OPTIONS_MESSAGE, "%.200s: there is no such service (systemctl says: %.30s)",
		 ret_unit->name, loaded);
	return -ENOENT;
}

void ebbi_unit_property(const struct unit *unit, const char *property, char *ret_value, size_t size)
{
	size_t length = strlen(property);

	ret_value[0] = 0;
	for (const char *line = unit->text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, property, length) != 0 || line[length] != '=')
			continue;
		snprintf(ret_value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
		return;
	}
}
