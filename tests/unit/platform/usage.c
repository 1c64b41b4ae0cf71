/* What the kernel says of this process: resident pages, mappings, descriptors. */
#include "platform/usage.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/build.h"
#include "check.h"
#include "platform/event.h"
#include "platform/smaps.h"

#define MIB ((size_t)1 << 20)

static uintptr_t stack_at;

static bool is_stack(uintptr_t start, uintptr_t end)
{
	return stack_at >= start && stack_at < end;
}

static uint8_t *map_touched(size_t bytes)
{
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 1, bytes);
	return at;
}

TEST(resident)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ebbi_usage before;
	struct ebbi_usage after;
	uint8_t *at;

	CHECK(ebbi_usage_read(&before));
	CHECK_GT(before.file_pages, 0u);
	CHECK_GT(before.resident_pages, before.file_pages);
	at = map_touched(64 * MIB);
	CHECK(ebbi_usage_read(&after));
	/* The kernel's counters are off by some pages a CPU. */
	CHECK_GE(after.resident_pages + 1024, before.resident_pages + 64 * MIB / page);
	/* A sanitizer has a byte, or four, for each of ours. */
	if (!EBBI_TSAN && !EBBI_ASAN)
		CHECK_LE(after.resident_pages, before.resident_pages + 64 * MIB / page + 1024);
	CHECK_EQ(munmap(at, 64 * MIB), 0);
	CHECK_GE(ebbi_usage_machine_bytes(), 64 * MIB);
	CHECK_LT(ebbi_usage_machine_bytes(), UINT64_MAX);
}

TEST(mappings)
{
	struct ebbi_smaps before;
	struct ebbi_smaps after;
	uint8_t *at = map_touched(16 * MIB);

	stack_at = 0;
	CHECK(ebbi_smaps_read(is_stack, &before));
	CHECK_GT(before.file_bytes, 0u);
	CHECK_GT(before.stack_bytes, 0u); /* the main thread's */
	CHECK_LT(before.stack_bytes, 8 * MIB);
	stack_at = (uintptr_t)at + MIB;
	CHECK(ebbi_smaps_read(is_stack, &after));
	CHECK_GE(after.stack_bytes, before.stack_bytes + 16 * MIB);
	CHECK_EQ(munmap(at, 16 * MIB), 0);
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN) != 0;
}

TEST(events)
{
	struct ebbi_event event;
	uint64_t value;
	char name[] = "usage-event-XXXXXX";
	int file;

	CHECK_EQ(ebbi_event_open(&event), 0);
	CHECK_EQ(fcntl(event.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK(!is_readable(event.fd));
	CHECK(ebbi_event_signal(&event));
	CHECK(ebbi_event_signal(&event));
	CHECK(is_readable(event.fd));
	CHECK_EQ(read(event.fd, &value, sizeof(value)), (ssize_t)sizeof(value));
	CHECK_EQ(value, 2u);
	CHECK(!is_readable(event.fd));
	/* Full: still a signal. */
	value = UINT64_MAX - 1;
	CHECK_EQ(write(event.fd, &value, sizeof(value)), (ssize_t)sizeof(value));
	CHECK(ebbi_event_signal(&event));
	/* Its number is another file's, then another event's: neither is written to. */
	file = mkstemp(name);
	CHECK_GE(file, 0);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(dup2(file, event.fd), event.fd);
	CHECK(!ebbi_event_signal(&event));
	CHECK_EQ(lseek(file, 0, SEEK_END), 0);
	CHECK_EQ(close(event.fd), 0);
	CHECK(!ebbi_event_signal(&event));
	CHECK_EQ(close(file), 0);
}

int main(void)
{
	RUN(resident);
	RUN(mappings);
	RUN(events);
	return check_report();
}
