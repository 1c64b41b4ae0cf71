#include "lab/allocator.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/elf_file.h"

struct known {
	const char *name;
	const char *files;
	const char *package;
	enum conf_style conf_style;
	const char *variable;
};

static const struct known known_allocators[] = {
#define EBB_ALLOCATOR(name, files, package, conf, variable, help) {#name, files, package, CONF_##conf, variable},
#include "lab/allocators.def"
#undef EBB_ALLOCATOR
};
#define KNOWN_COUNT (sizeof(known_allocators) / sizeof(known_allocators[0]))

/* Where the loader looks on the systems we know: Debian's multiarch, Fedora's lib64, others' lib. */
static const char *const library_directories[] = {
	"/usr/local/lib",
#if defined(__x86_64__)
	"/usr/local/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/usr/local/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/lib/aarch64-linux-gnu",
#endif
	"/usr/local/lib64",
	"/usr/lib64",
	"/usr/lib",
	"/lib64",
	"/lib",
};
#define DIRECTORY_COUNT (sizeof(library_directories) / sizeof(library_directories[0]))

/* Beside the binary first, so that a build tree and a private prefix use what belongs to them. */
static const char *const beside_binary[] = {"../lib", ".", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu",
					    "../lib64"};
#define BESIDE_COUNT (sizeof(beside_binary) / sizeof(beside_binary[0]))

/* `file` in `directory`, as a real path that may be read. */
static bool try_file(const char *directory, const char *file, char *ret_path)
{
	char path[PATH_MAX];
	char real[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path))
		return false;
	if (!realpath(path, real) || access(real, R_OK) != 0)
		return false;
	memcpy(ret_path, real, strlen(real) + 1);
	return true;
}

static bool find_beside(const char *file, char *ret_path)
{
	char binary[PATH_MAX];
	char directory[PATH_MAX + 64];
	ssize_t length = readlink("/proc/self/exe", binary, sizeof(binary) - 1);
	char *slash;

	if (length <= 0)
		return false;
	binary[length] = 0;
	slash = strrchr(binary, '/');
	if (!slash)
		return false;
	*slash = 0;
	for (size_t i = 0; i < BESIDE_COUNT; i++) {
		snprintf(directory, sizeof(directory), "%s/%s", binary, beside_binary[i]);
		if (try_file(directory, file, ret_path))
			return true;
	}
	return false;
}

static bool find_installed(const char *files, char *ret_path)
{
	char list[256];
	char *save = NULL;

	snprintf(list, sizeof(list), "%s", files);
	for (char *file = strtok_r(list, " ", &save); file; file = strtok_r(NULL, " ", &save)) {
		for (size_t i = 0; i < DIRECTORY_COUNT; i++) {
			if (try_file(library_directories[i], file, ret_path))
				return true;
		}
	}
	return false;
}

static int describe_library(struct allocator *allocator, char *ret_message)
{
	struct elf_info info = {0};
	struct elf_symbol symbol;
	int fd = open(allocator->path, O_RDONLY | O_CLOEXEC);
	struct elf_reader reader = {.read = ebbi_elf_read_fd, .context = &fd};
	int error = fd < 0 ? -errno : ebbi_elf_read(&reader, &info);

	if (error != 0 || !info.is_64 || !info.dynamic) {
		snprintf(ret_message, LAB_MESSAGE, "%.900s: %s", allocator->path,
			 fd < 0 ? strerror(-error) : "not a 64-bit shared library");
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	snprintf(allocator->build_id, sizeof(allocator->build_id), "%s", info.build_id);
	allocator->is_ebb = ebbi_elf_symbol(&reader, "ebb_shared_snapshot", &symbol) == 0;
	close(fd);
	/* The loader splits LD_PRELOAD at both and knows no quoting. */
	if (strpbrk(allocator->path, " :")) {
		snprintf(
			ret_message, LAB_MESSAGE,
			"%.800s: LD_PRELOAD cannot carry a path with a blank or a colon; link or copy the library elsewhere",
			allocator->path);
		return -EINVAL;
	}
	return 0;
}

static int find_by_path(const char *path, struct allocator *allocator, char *ret_message)
{
	const char *slash;

	if (!realpath(path, allocator->path)) {
		snprintf(ret_message, LAB_MESSAGE, "--allocator %.800s: %s", path, strerror(errno));
		return -ENOENT;
	}
	slash = strrchr(path, '/');
	snprintf(allocator->name, sizeof(allocator->name), "%.63s", slash ? slash + 1 : path);
	return describe_library(allocator, ret_message);
}

static int unknown_name(const char *name, char *ret_message)
{
	int length = snprintf(ret_message, LAB_MESSAGE, "unknown allocator '%.200s': use", name);

	for (size_t i = 0; i < KNOWN_COUNT; i++)
		length += snprintf(ret_message + length, LAB_MESSAGE - (size_t)length, " %s%s",
				   known_allocators[i].name, i + 1 < KNOWN_COUNT ? "," : "");
	snprintf(ret_message + length, LAB_MESSAGE - (size_t)length,
		 " or the path of a library (with a slash, such as ./liballoc.so)");
	return -EINVAL;
}

static int find_by_name(const struct known *known, struct allocator *allocator, char *ret_message)
{
	bool found;

	snprintf(allocator->name, sizeof(allocator->name), "%s", known->name);
	snprintf(allocator->conf_variable, sizeof(allocator->conf_variable), "%s", known->variable);
	allocator->conf_style = known->conf_style;
	if (known->files[0] == 0)
		return 0;
	found = (known->package[0] == 0 && find_beside(known->files, allocator->path)) ||
		find_installed(known->files, allocator->path);
	if (found)
		return describe_library(allocator, ret_message);
	if (known->package[0])
		snprintf(ret_message, LAB_MESSAGE,
			 "%s is not installed: no %s in the library directories; on Debian: apt-get install %s",
			 known->name, known->files, known->package);
	else
		snprintf(
			ret_message, LAB_MESSAGE,
			"%s was not found, neither in ../lib beside this ebb nor in the library directories; build it with make, or give its path: --allocator /path/to/%s",
			known->files, known->files);
	return -ENOENT;
}

int ebbi_allocator_find(const char *name, struct allocator *ret_allocator, char *ret_message)
{
	struct allocator *allocator = ret_allocator;
	int error;

	*allocator = (struct allocator){0};
	if (strchr(name, '/')) {
		error = find_by_path(name, allocator, ret_message);
		if (error == 0 && allocator->is_ebb) {
			allocator->conf_style = CONF_LIST;
			snprintf(allocator->conf_variable, sizeof(allocator->conf_variable), "EBB_CONF");
		}
		return error;
	}
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		if (strcmp(known_allocators[i].name, name) == 0)
			return find_by_name(&known_allocators[i], allocator, ret_message);
	}
	return unknown_name(name, ret_message);
}

const char *ebbi_allocator_known(size_t index)
{
	return index < KNOWN_COUNT ? known_allocators[index].name : NULL;
}

int ebbi_environment_set(struct environment *environment, const char *name, const char *value)
{
	size_t i = environment->count;

	if (i == LAB_VARIABLES || strlen(name) >= sizeof(environment->variables[i].name) ||
	    strlen(value) >= sizeof(environment->variables[i].value))
		return -ENOSPC;
	strcpy(environment->variables[i].name, name);
	strcpy(environment->variables[i].value, value);
	environment->count++;
	return 0;
}

/* One KEY:VALUE for an allocator that has a variable of its own for each key. */
static int set_prefixed(const struct allocator *allocator, const char *key, const char *value,
			struct environment *environment)
{
	char name[64];
	int length = snprintf(name, sizeof(name), "%s_%s", allocator->conf_variable, key);

	if (length >= (int)sizeof(name))
		return -ENOSPC;
	for (char *at = name; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return ebbi_environment_set(environment, name, value);
}

/* Splits KEY:VALUE,... and hands the pairs on; collects glibc's tunables in `tunables`. */
static int set_pairs(const struct allocator *allocator, char *conf, char *tunables, size_t size,
		     struct environment *environment)
{
	char *save = NULL;
	size_t length = 0;
	int error = 0;

	for (char *pair = strtok_r(conf, ",", &save); pair && error == 0; pair = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(pair, ':');

		if (!colon || colon == pair)
			return -EINVAL;
		*colon = 0;
		if (allocator->conf_style == CONF_PREFIX) {
			error = set_prefixed(allocator, pair, colon + 1, environment);
			continue;
		}
		length += (size_t)snprintf(tunables + length, size - length, "%sglibc.malloc.%s=%s", length ? ":" : "",
					   pair, colon + 1);
		if (length >= size)
			return -ENOSPC;
	}
	return error;
}

static int set_conf(const struct allocator *allocator, const char *conf, struct environment *environment,
		    char *ret_message)
{
	char copy[4096];
	char tunables[4096] = "";
	int error = 0;

	if (allocator->conf_style == CONF_NONE) {
		snprintf(
			ret_message, LAB_MESSAGE,
			"--conf: ebb does not know how %s takes its options; set its variable in the environment instead",
			allocator->name);
		return -EINVAL;
	}
	if (snprintf(copy, sizeof(copy), "%s", conf) >= (int)sizeof(copy))
		error = -ENOSPC;
	else if (allocator->conf_style == CONF_LIST && (!strchr(conf, ':') || conf[0] == ':'))
		error = -EINVAL;
	else if (allocator->conf_style == CONF_LIST)
		error = ebbi_environment_set(environment, allocator->conf_variable, conf);
	else
		error = set_pairs(allocator, copy, tunables, sizeof(tunables), environment);
	if (error == 0 && tunables[0])
		error = ebbi_environment_set(environment, allocator->conf_variable, tunables);
	if (error != 0)
		snprintf(ret_message, LAB_MESSAGE, "--conf '%.300s': %s", conf,
			 error == -ENOSPC ? "too long"
					  : "write KEY:VALUE, several with commas between them, such as delay:500ms");
	return error;
}

int ebbi_allocator_environment(const struct allocator *allocator, const char *conf, struct environment *ret_environment,
			       char *ret_message)
{
	const char *kept = getenv("LD_PRELOAD");
	char value[4096];
	int error = 0;

	ret_environment->count = 0;
	if (allocator->path[0]) {
		bool both = kept && kept[0];

		if (snprintf(value, sizeof(value), "%s%s%s", allocator->path, both ? ":" : "", both ? kept : "") >=
		    (int)sizeof(value))
			error = -ENOSPC;
		else
			error = ebbi_environment_set(ret_environment, "LD_PRELOAD", value);
		if (error != 0)
			snprintf(ret_message, LAB_MESSAGE, "LD_PRELOAD is too long to add %.800s", allocator->path);
	}
	if (error == 0 && conf)
		error = set_conf(allocator, conf, ret_environment, ret_message);
	return error;
}
