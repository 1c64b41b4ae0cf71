#include "observe/preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "observe/elf_file.h"
#include "observe/procread.h"

#define SCRIPT_DEPTH 4
#define ENVIRON_BYTES 65536

static const struct {
	const char *word;
	const char *sentence;
} reasons[] = {
	[REASON_NONE] = {"none", "nothing is in the way"},
	[REASON_TOO_SHORT] = {"too-short", "the command ended before it could be looked at"},
	[REASON_NO_RIGHTS] = {"no-rights", "its mappings may not be read: run ebb as the same user, or as root"},
	[REASON_STATIC] =
		{"static",
		 "the program is statically linked, so no loader reads LD_PRELOAD; link it with libebb.a instead"},
	[REASON_SETUID] =
		{"setuid",
		 "the program is set-user-ID or has capabilities, so the loader ignores LD_PRELOAD; start it as its own user"},
	[REASON_MUSL] = {"libc", "the program runs on another libc (musl), and the library was built for glibc"},
	[REASON_CLASS] = {"machine", "the program is built for another machine or word size than the library"},
	[REASON_ENVIRONMENT] =
		{"environment",
		 "LD_PRELOAD is not in its environment: a wrapper (sudo, su, env -i) dropped it; put ebb run behind the wrapper"},
	[REASON_UNEXPLAINED] = {"unexplained", "the loader did not take it; LD_DEBUG=libs shows what it tried"},
};

const char *ebbi_preload_sentence(enum preload_reason reason)
{
	return reasons[reason].sentence;
}

const char *ebbi_preload_word(enum preload_reason reason)
{
	return reasons[reason].word;
}

struct look {
	const char *path;
	uint64_t inode;
	struct preload_look *result;
};

static bool path_is(const struct text *text, const char *path)
{
	return ebbi_text_length(text) == strlen(path) && memcmp(text->at, path, strlen(path)) == 0;
}

/* The file name, when it is that of a well-known allocator. */
static bool is_allocator(const struct text *path, char *ret_name, size_t size)
{
	static const char *const known[] = {"libjemalloc", "libmimalloc", "libtcmalloc",
					    "libsnmalloc", "librpmalloc", "libebb.so"};
	const char *slash = memrchr(path->at, '/', ebbi_text_length(path));
	struct text name = {.at = slash ? slash + 1 : path->at, .end = path->end};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct text rest = name;

		if (ebbi_text_skip(&rest, known[i])) {
			ebbi_text_copy(&name, ret_name, size);
			return true;
		}
	}
	return false;
}

static void note_other(struct preload_look *look, const char *name)
{
	for (size_t i = 0; i < look->other_count; i++) {
		if (strcmp(look->others[i], name) == 0)
			return;
	}
	if (look->other_count < PRELOAD_OTHERS)
		snprintf(look->others[look->other_count++], sizeof(look->others[0]), "%.63s", name);
}

static int look_at(void *context, const struct proc_map *map)
{
	struct look *look = context;
	char name[64];

	if (map->inode == 0 || ebbi_text_length(&map->path) == 0)
		return 0;
	/* The path differs in a container or a chroot; the inode differs on some overlays. */
	if (look->path && (path_is(&map->path, look->path) || map->inode == look->inode)) {
		look->result->state = PRELOAD_TAKEN;
		return 0;
	}
	if (is_allocator(&map->path, name, sizeof(name)))
		note_other(look->result, name);
	return 0;
}

int ebbi_preload_look(pid_t pid, const char *path, struct preload_look *ret_look)
{
	struct preload_look result = {.state = path ? PRELOAD_MISSED : PRELOAD_NONE};
	struct look look = {.path = path, .result = &result};
	struct stat file;
	int error;

	if (path && stat(path, &file) == 0)
		look.inode = file.st_ino;
	error = ebbi_proc_maps(pid, look_at, &look);
	if (error != 0 && path)
		result.state = PRELOAD_UNKNOWN;
	*ret_look = result;
	return error;
}

/* "#!interpreter argument": the interpreter; false when the file is no script. */
static bool script_interpreter(const char *path, char *ret_interpreter, size_t size)
{
	char bytes[512];
	ssize_t length = ebbi_read_file(path, bytes, sizeof(bytes));
	struct text text = ebbi_text(bytes, length > 0 ? (size_t)length : 0);
	struct text line, word;

	if (!ebbi_text_skip(&text, "#!") || !ebbi_text_line(&text, &line) || !ebbi_text_word(&line, &word))
		return false;
	ebbi_text_copy(&word, ret_interpreter, size);
	return true;
}

static bool is_privileged(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return false;
	if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid())
		return true;
	if ((file.st_mode & S_ISGID) != 0 && file.st_gid != getgid())
		return true;
	/* Capabilities make the loader careful unless the caller is root and has them anyway. */
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static enum preload_reason elf_obstacle(const struct elf_info *info)
{
	struct elf_info own;

	if (!info->is_64)
		return REASON_CLASS;
	if (ebbi_elf_read_path("/proc/self/exe", &own) == 0 && own.machine != info->machine)
		return REASON_CLASS;
	if (info->interpreter[0] == 0)
		return REASON_STATIC;
	if (strstr(info->interpreter, "ld-musl"))
		return REASON_MUSL;
	return REASON_NONE;
}

enum preload_reason ebbi_preload_obstacle(const char *executable)
{
	char path[4096];
	struct elf_info info;

	snprintf(path, sizeof(path), "%s", executable);
	for (int i = 0; i < SCRIPT_DEPTH && script_interpreter(path, path, sizeof(path)); i++)
		;
	if (is_privileged(path))
		return REASON_SETUID;
	if (ebbi_elf_read_path(path, &info) != 0)
		return REASON_NONE; /* not for us to say */
	return elf_obstacle(&info);
}

/* Whether LD_PRELOAD reached the process; true as well when that cannot be read. */
static bool environment_kept(pid_t pid)
{
	char *bytes = malloc(ENVIRON_BYTES);
	ssize_t length = bytes ? ebbi_proc_read(pid, "environ", bytes, ENVIRON_BYTES) : -ENOMEM;
	struct text value;
	bool kept = length <= 0 || length == ENVIRON_BYTES ||
		    ebbi_parse_environ(bytes, (size_t)length, "LD_PRELOAD", &value) == 0;

	free(bytes);
	return kept;
}

enum preload_reason ebbi_preload_explain(pid_t pid, const char *executable)
{
	char link[64];
	enum preload_reason reason;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	reason = ebbi_preload_obstacle(access(link, R_OK) == 0 ? link : executable);
	if (reason != REASON_NONE)
		return reason;
	return environment_kept(pid) ? REASON_UNEXPLAINED : REASON_ENVIRONMENT;
}

bool ebbi_preload_which(const char *command, char *ret_path, size_t size)
{
	const char *path = getenv("PATH");
	char *copy, *save = NULL;
	bool found = false;

	if (strchr(command, '/')) {
		snprintf(ret_path, size, "%s", command);
		return access(command, F_OK) == 0;
	}
	copy = strdup(path ? path : "/bin:/usr/bin");
	if (!copy)
		return false;
	for (char *at = strtok_r(copy, ":", &save); at && !found; at = strtok_r(NULL, ":", &save)) {
		snprintf(ret_path, size, "%s/%s", at, command);
		found = access(ret_path, X_OK) == 0;
	}
	free(copy);
	return found;
}
