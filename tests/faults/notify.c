/*
 * The real library in a real process, whose own system calls are answered by a supervisor: it lets them pass, or says
 * no in the kernel's place.
 *   notify nth                    the n-th call of each kind fails, for each kind and many n
 *   notify random SEED SECONDS    calls fail at random, in phases from rarely to nearly always
 * Only calls made from within the library are looked at (by the address of the instruction), so that the C
 * library and the loader get what they ask for. Threads allocate, resize, check and free all the while.
 */
#include "stats.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "churn.h"

#define MOST_FILTER 40u

static const int kinds[] = {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_prctl, SYS_membarrier};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const int errors[] = {ENOMEM, EAGAIN, EPERM, ENOSYS, EINVAL};
#define ERRORS (sizeof(errors) / sizeof(errors[0]))

/* Shared with the supervisor; relaxed atomics. */
struct plan {
	unsigned per_mille; /* at random; 0: see the next three */
	unsigned kind;
	unsigned after; /* calls of this kind that pass; UINT32_MAX: all */
	unsigned error;
	unsigned calls[KINDS]; /* since the round began */
	unsigned long refused;
};

static struct plan *plan;

/* --- The filter ---------------------------------------------------------------------------------- */

static struct sock_filter filter[MOST_FILTER];
static unsigned filter_length;

static void emit(uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	CHECK(filter_length < MOST_FILTER, "filter");
	filter[filter_length++] = (struct sock_filter){code, if_true, if_false, k};
}

/* The library's executable part. */
static void find_library(uintptr_t *ret_start, uintptr_t *ret_end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start;
	unsigned long end;
	char rights[8];

	CHECK(maps != NULL, "/proc/self/maps");
	*ret_start = 0;
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (strstr(line, "libebb.so") == NULL || sscanf(line, "%lx-%lx %7s", &start, &end, rights) != 3 ||
		    rights[2] != 'x')
			continue;
		*ret_start = start;
		*ret_end = end;
	}
	(void)fclose(maps);
	CHECK(*ret_start != 0 && *ret_start >> 32 == *ret_end >> 32, "libebb.so is not where it can be told apart");
}

/* Returns the supervisor's descriptor. */
static int install(void)
{
	const uint32_t low = offsetof(struct seccomp_data, instruction_pointer);
	uintptr_t start;
	uintptr_t end;

	find_library(&start, &end);
	emit(BPF_LD | BPF_W | BPF_ABS, low + 4, 0, 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(start >> 32), 1, 0);
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit(BPF_LD | BPF_W | BPF_ABS, low, 0, 0);
	emit(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)start, 1, 0);
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)end, 0, 1);
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	for (unsigned i = 0; i < KINDS; i++) {
		emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)kinds[i], 0, 1);
		emit(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 0);
	}
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	struct sock_fprog program = {(unsigned short)filter_length, filter};
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);

	CHECK(fd >= 0, "seccomp: %s", strerror(errno));
	return (int)fd;
}

/* --- The supervisor: allocates nothing ------------------------------------------------------------- */

static int decide(int number, struct rng *rng)
{
	unsigned kind = 0;
	unsigned call;
	unsigned per_mille = __atomic_load_n(&plan->per_mille, __ATOMIC_RELAXED);

	while (kind < KINDS - 1 && kinds[kind] != number)
		kind++;
	call = __atomic_fetch_add(&plan->calls[kind], 1, __ATOMIC_RELAXED);
	if (per_mille > 0) {
		if (rng_below(rng, 1000) >= per_mille)
			return 0;
		__atomic_fetch_add(&plan->refused, 1, __ATOMIC_RELAXED);
		return errors[rng_below(rng, ERRORS)];
	}
	if (kind != __atomic_load_n(&plan->kind, __ATOMIC_RELAXED) ||
	    call != __atomic_load_n(&plan->after, __ATOMIC_RELAXED))
		return 0;
	__atomic_fetch_add(&plan->refused, 1, __ATOMIC_RELAXED);
	return (int)plan->error;
}

static _Noreturn void supervise(int fd, uint64_t seed)
{
	struct rng rng = {seed};
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	while (poll(&poll_fd, 1, -1) == 1 && (poll_fd.revents & POLLIN) != 0) {
		struct seccomp_notif request = {0};
		struct seccomp_notif_resp response = {0};

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
			continue;
		response.id = request.id;
		response.error = -decide(request.data.nr, &rng);
		if (response.error == 0)
			response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
	}
	_exit(0);
}

static void send_fd(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	CHECK(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static int receive_fd(int socket)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(socket, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == NULL)
		_exit(1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

static void start(uint64_t seed)
{
	int sockets[2];
	pid_t supervisor;
	int fd;

	plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(plan != MAP_FAILED, "mmap");
	plan->after = UINT32_MAX;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "socketpair");
	supervisor = fork();
	CHECK(supervisor >= 0, "fork");
	if (supervisor == 0) {
		(void)close(sockets[0]);
		supervise(receive_fd(sockets[1]), seed);
	}
	(void)close(sockets[1]);
	fd = install();
	send_fd(sockets[0], fd);
	(void)close(fd);
	(void)close(sockets[0]);
}

/* --- The work -------------------------------------------------------------------------------------- */

static bool pulse_may_fail;

static void pulse_block(uint8_t **block, size_t bytes)
{
	uint8_t *larger = hide(realloc(*block, bytes));

	CHECK(larger != NULL || pulse_may_fail, "%zu bytes refused", bytes);
	if (larger == NULL)
		return;
	CHECK(*block == NULL || larger[4096] == 0x5a, "contents lost by realloc to %zu bytes", bytes);
	memset(larger, 0x5a, 8192);
	larger[bytes - 1] = 0x5a;
	*block = larger;
}

/* Work that comes to every kind of call: mappings that grow, slabs that come and go, and a thread. */
static void pulse(void)
{
	uint8_t *large[4] = {NULL};
	void *small[300];

	for (unsigned i = 0; i < 4; i++) {
		pulse_block(&large[i], (size_t)(5 + i) << 20);
		pulse_block(&large[i], (size_t)(12 + i) << 20);
	}
	for (unsigned i = 0; i < 300; i++) {
		small[i] = hide(malloc(30000));
		CHECK(small[i] != NULL || pulse_may_fail, "30000 bytes refused");
		if (small[i] != NULL)
			memset(small[i], 1, 30000);
	}
	for (unsigned i = 0; i < 4; i++)
		free(large[i]);
	for (unsigned i = 0; i < 300; i++)
		free(small[i]);
	check_purge();
}

static void test_nth(void)
{
	struct churn churn;
	unsigned long rounds = 0;

	start(1);
	churn_init(&churn, 4, 23);
	churn_steps(&churn, 500);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned after = 0; after < 10; after++) {
			plan->kind = kind;
			plan->error = (unsigned)errors[(after + kind) % ERRORS];
			for (unsigned i = 0; i < KINDS; i++)
				__atomic_store_n(&plan->calls[i], 0, __ATOMIC_RELAXED);
			__atomic_store_n(&plan->after, after, __ATOMIC_RELAXED);
			churn.may_fail = true;
			churn_steps(&churn, 50);
			pulse();
			churn_steps(&churn, 50);
			__atomic_store_n(&plan->after, UINT32_MAX, __ATOMIC_RELAXED);
			churn.may_fail = false;
			churn_steps(&churn, 50);
			rounds++;
		}
	}
	churn_free_all(&churn);
	check_purge();
	check_note("%lu rounds, %lu calls refused, %lu allocations\n", rounds, plan->refused, churn.refused);
	CHECK(plan->refused >= rounds / 3, "only %lu calls were refused", plan->refused);
	/* A call that failed once and is tried again hides nothing from the program. */
	CHECK(churn.refused == 0, "%lu allocations were refused where one call failed", churn.refused);
}

static void test_random(uint64_t seed, unsigned seconds)
{
	static const unsigned phases[] = {2, 20, 200, 600, 950, 0};
	struct churn_thread noise[3];
	struct ebb_snapshot snapshot;
	uint64_t end = now_ns() + seconds * UINT64_C(1000000000);

	start(seed);
	pulse_may_fail = true;
	for (unsigned i = 0; i < 3; i++) {
		noise[i] = (struct churn_thread){.seed = seed * 8 + i, .max_bits = 22, .may_fail = true};
		noise[i].thread = check_thread(churn_run, &noise[i]);
	}
	/* Time, and at least every phase once: on a busy machine these may take longer. */
	for (unsigned i = 0; i < 6 || now_ns() < end; i++) {
		__atomic_store_n(&plan->per_mille, phases[i % 6], __ATOMIC_RELAXED);
		sleep_ms(50 + i % 7 * 10);
		pulse();
	}
	__atomic_store_n(&plan->per_mille, 0, __ATOMIC_RELAXED);
	pulse_may_fail = false;
	for (unsigned i = 0; i < 3; i++)
		churn_stop(&noise[i]);
	pulse();
	CHECK(stats_get(&snapshot), "no statistics");
	check_note("%lu calls refused; purge_refused %lu, unmap_refused %lu, allocations_refused %lu, reclaims %lu, "
		   "leftover %lu KiB, live %lu KiB, mapped %lu MiB\n",
		   plan->refused, (unsigned long)snapshot.purge_refused, (unsigned long)snapshot.unmap_refused,
		   (unsigned long)snapshot.allocations_refused, (unsigned long)snapshot.reclaims,
		   (unsigned long)snapshot.leftover_bytes >> 10, (unsigned long)snapshot.live_bytes >> 10,
		   (unsigned long)snapshot.mapped_bytes >> 20);
	CHECK(plan->refused > 20, "only %lu calls were refused", plan->refused);
	CHECK(snapshot.live_bytes < 1 << 20, "%lu bytes live", (unsigned long)snapshot.live_bytes);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	check_allocator();
	if (strcmp(mode, "nth") == 0)
		test_nth();
	else if (strcmp(mode, "random") == 0 && argc > 3)
		test_random(strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	else
		CHECK(false, "unknown mode '%s'", mode);
	return 0;
}
