/* Which allocators are in a process: this program itself under each of those that the machine has. */
#include "observe/allocators.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const char *self;

/* Another one of us, that waits until it is killed; 0 when it did not start. */
static pid_t start(const char *preload)
{
	int ready[2];
	char byte;
	pid_t child;

	if (pipe(ready) != 0)
		return 0;
	child = fork();
	if (child == 0) {
		dup2(ready[1], 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		execl(self, self, "wait", (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	if (child > 0 && read(ready[0], &byte, 1) != 1) {
		waitpid(child, NULL, 0);
		child = 0;
	}
	close(ready[0]);
	return child;
}

static void stop(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static const struct process_allocator *find(const struct process_allocators *all, enum allocator_id id)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->all[i].id == id)
			return &all->all[i];
	}
	return NULL;
}

TEST(our_own)
{
	struct process_allocators all;
	const struct process_allocator *found;

	REQUIRE(ebbi_allocators(getpid(), &all) == 0);
	CHECK(all.certain);
	CHECK_EQ(all.unread, 0);
	found = ebbi_allocators_malloc(&all);
	REQUIRE(found != NULL);
	/* The texts by which it is known stand in this program, too. */
	CHECK(find(&all, ALLOCATOR_MIMALLOC) == NULL);
#if EBB_SANITIZED
	CHECK_EQ(found->id, ALLOCATOR_SANITIZER);
#elif defined(__GLIBC__)
	CHECK_EQ(found->id, ALLOCATOR_GLIBC);
	CHECK_EQ(found->evidence, EVIDENCE_SYMBOL);
	CHECK(!found->in_program && !found->runtime);
#endif
}

TEST(preloaded)
{
	static const struct {
		const char *path;
		enum allocator_id id;
	} known[] = {
		{"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", ALLOCATOR_JEMALLOC},
		{"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", ALLOCATOR_MIMALLOC},
		{"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", ALLOCATOR_TCMALLOC},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct process_allocators all;
		pid_t child;

		if (access(known[i].path, R_OK) != 0)
			continue;
		child = start(known[i].path);
		if (child == 0)
			continue;
		CHECK_EQ(ebbi_allocators(child, &all), 0);
		CHECK(find(&all, known[i].id) != NULL);
		CHECK(all.certain && ebbi_allocators_malloc(&all) && ebbi_allocators_malloc(&all)->id == known[i].id);
		stop(child);
	}
}

/* A file of text alone is none of ours; its name may still say what it should be. */
static int no_bytes(void *context, uint64_t offset, void *ret_bytes, size_t size)
{
	(void)context, (void)offset;
	memset(ret_bytes, 'x', size);
	return 0;
}

TEST(no_elf)
{
	struct elf_reader reader = {.read = no_bytes};
	struct process_allocators all = {0};
	bool defines = true;

	CHECK_EQ(ebbi_allocators_in_file(&reader, "notes.txt", false, &all, &defines), -ENOEXEC);
	CHECK_EQ(all.count, 0);
	CHECK(!defines);
	CHECK_EQ(ebbi_allocators_in_file(&reader, "libjemalloc.so.2", false, &all, &defines), -ENOEXEC);
	REQUIRE(all.count == 1);
	CHECK_EQ(all.all[0].id, ALLOCATOR_JEMALLOC);
	CHECK_EQ(all.all[0].evidence, EVIDENCE_FILE_NAME);
	CHECK(!all.all[0].is_malloc);
	/* The table ends; nothing is written behind it. */
	for (int i = 0; i < 40; i++)
		(void)ebbi_allocators_in_file(&reader, "libmimalloc.so", false, &all, &defines);
	CHECK_EQ(all.count, ALLOCATORS_MOST);
}

TEST(nobody)
{
	struct process_allocators all;

	CHECK_EQ(ebbi_allocators(0x7ffffff0, &all), -ESRCH);
	CHECK_EQ(all.count, 0);
	CHECK(ebbi_allocators_malloc(&all) == NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		CHECK(write(1, "r", 1) == 1);
		pause();
		return 0;
	}
	self = argv[0];
	RUN(our_own);
	if (!EBB_SANITIZED)
		RUN(preloaded); /* a sanitizer is malloc before all others */
	RUN(no_elf);
	RUN(nobody);
	return check_report();
}
