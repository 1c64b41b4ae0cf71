/*
 * refuse: runs a program in a process where the kernel refuses things, as sandboxes, containers
 * and small machines do.
 *
 *   refuse [RULE]... [--env KEY=VALUE]... -- PROGRAM ARGS...
 *
 *   SYSCALL            fails with EPERM (madvise process_madvise membarrier mremap munmap mprotect
 *                      mincore)
 *   SYSCALL=nosys      fails with ENOSYS, =inval with EINVAL, =nomem with ENOMEM, =kill kills
 *   threads            no thread can be started (processes still can)
 *   names              prctl(PR_SET_VMA) fails as on a kernel without it
 *   mmap-over=BYTES    one mmap of more than BYTES is refused
 *   no-random          addresses are not randomised
 *   old-layout         mappings grow upwards from a third of the address space
 *   as=BYTES data=BYTES nproc=N stack=BYTES nofile=N
 *                      the limit of that name; nproc also leaves root, who has no such limit
 *
 * The filter is plain BPF; it is installed just before the exec. The x32 and i386 entry points are
 * not looked at: nothing here uses them.
 */
#include "check.h"

#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define MAX_FILTER 128
#define WORD(field) ((uint32_t)offsetof(struct seccomp_data, field))
#define LOW(index) (WORD(args) + 8u * (index))
#define HIGH(index) (LOW(index) + 4u)

static struct sock_filter filter[MAX_FILTER];
static unsigned filter_length;

static void emit(uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	CHECK(filter_length < MAX_FILTER, "too many rules");
	filter[filter_length++] = (struct sock_filter){code, if_true, if_false, k};
}

/* Loads the number and skips the next `body` instructions for any other system call. */
static void emit_for_syscall(long number, uint8_t body)
{
	emit(BPF_LD | BPF_W | BPF_ABS, WORD(nr), 0, 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, body);
}

static void emit_return(uint32_t action)
{
	emit(BPF_RET | BPF_K, action, 0, 0);
}

static uint32_t action_named(const char *name)
{
	if (name == NULL)
		return SECCOMP_RET_ERRNO | EPERM;
	if (strcmp(name, "nosys") == 0)
		return SECCOMP_RET_ERRNO | ENOSYS;
	if (strcmp(name, "inval") == 0)
		return SECCOMP_RET_ERRNO | EINVAL;
	if (strcmp(name, "nomem") == 0)
		return SECCOMP_RET_ERRNO | ENOMEM;
	CHECK(strcmp(name, "kill") == 0, "unknown action %s", name);
	return SECCOMP_RET_KILL_PROCESS;
}

static void refuse_threads(void)
{
	/* glibc tries clone3 first and falls back to clone, whose flags a filter can read. */
	emit_for_syscall(SYS_clone3, 1);
	emit_return(SECCOMP_RET_ERRNO | ENOSYS);
	emit_for_syscall(SYS_clone, 3);
	emit(BPF_LD | BPF_W | BPF_ABS, LOW(0), 0, 0);
	emit(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	emit_return(SECCOMP_RET_ERRNO | EAGAIN);
}

static void refuse_names(void)
{
	emit_for_syscall(SYS_prctl, 3);
	emit(BPF_LD | BPF_W | BPF_ABS, LOW(0), 0, 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_VMA, 0, 1);
	emit_return(SECCOMP_RET_ERRNO | EINVAL);
}

static void refuse_large_mmap(uint32_t bytes)
{
	emit_for_syscall(SYS_mmap, 5);
	emit(BPF_LD | BPF_W | BPF_ABS, HIGH(1), 0, 0);
	emit(BPF_JMP | BPF_JGT | BPF_K, 0, 2, 0);
	emit(BPF_LD | BPF_W | BPF_ABS, LOW(1), 0, 0);
	emit(BPF_JMP | BPF_JGT | BPF_K, bytes, 0, 1);
	emit_return(SECCOMP_RET_ERRNO | ENOMEM);
}

static void refuse_syscall(const char *name, const char *action)
{
	static const struct {
		const char *name;
		long number;
	} known[] = {
		{"madvise", SYS_madvise},       {"process_madvise", SYS_process_madvise},
		{"membarrier", SYS_membarrier}, {"mremap", SYS_mremap},
		{"munmap", SYS_munmap},         {"mprotect", SYS_mprotect},
		{"mincore", SYS_mincore},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		emit_for_syscall(known[i].number, 1);
		emit_return(action_named(action));
		return;
	}
	CHECK(false, "unknown rule %s", name);
}

static bool set_limit(const char *name, const char *value)
{
	static const struct {
		const char *name;
		int resource;
	} known[] = {
		{"as", RLIMIT_AS},       {"data", RLIMIT_DATA},     {"nproc", RLIMIT_NPROC},
		{"stack", RLIMIT_STACK}, {"nofile", RLIMIT_NOFILE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		CHECK(value != NULL, "%s needs a value", name);
		rlim_t bytes = strtoul(value, NULL, 10);
		struct rlimit limit = {bytes, bytes};

		CHECK(setrlimit(known[i].resource, &limit) == 0, "setrlimit %s", name);
		return true;
	}
	return false;
}

/* A user of no other process: its limit counts this test alone. */
#define LONELY_USER 61234

static void add_rule(char *rule, bool *ret_leave_root)
{
	char *value = strchr(rule, '=');

	if (value != NULL)
		*value++ = 0;
	if (strcmp(rule, "threads") == 0) {
		refuse_threads();
	} else if (strcmp(rule, "names") == 0) {
		refuse_names();
	} else if (strcmp(rule, "mmap-over") == 0) {
		CHECK(value != NULL, "mmap-over needs a value");
		refuse_large_mmap((uint32_t)strtoul(value, NULL, 10));
	} else if (strcmp(rule, "no-random") == 0) {
		CHECK(personality(ADDR_NO_RANDOMIZE) >= 0, "personality");
	} else if (strcmp(rule, "old-layout") == 0) {
		CHECK(personality(ADDR_COMPAT_LAYOUT) >= 0, "personality");
	} else if (set_limit(rule, value)) {
		*ret_leave_root |= strcmp(rule, "nproc") == 0;
	} else {
		refuse_syscall(rule, value);
	}
}

int main(int argc, char **argv)
{
	bool leave_root = false;
	char **argument = argv + 1;

	for (; *argument != NULL && strcmp(*argument, "--") != 0; argument++) {
		if (strcmp(*argument, "--env") == 0) {
			CHECK(argument[1] != NULL, "--env needs a value");
			putenv(*++argument);
		} else {
			add_rule(*argument, &leave_root);
		}
	}
	CHECK(argc > 1 && *argument != NULL && argument[1] != NULL, "no program after --");
	if (leave_root && geteuid() == 0)
		CHECK(setgroups(0, NULL) == 0 && setgid(LONELY_USER) == 0 && setuid(LONELY_USER) == 0,
		      "cannot become another user");
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	if (filter_length > 0) {
		emit_return(SECCOMP_RET_ALLOW);
		struct sock_fprog program = {(unsigned short)filter_length, filter};

		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
	}
	execv(argument[1], argument + 1);
	CHECK(false, "cannot run %s", argument[1]);
}
