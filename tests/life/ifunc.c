/*
 * malloc inside an ifunc's resolver: while the program is being relocated, before any constructor,
 * the allocator's own included. glibc copies the initial values of thread-local variables after
 * relocation, over whatever was stored in them until then: an allocator that keeps a pointer in
 * one finds it reset.
 */
#include "check.h"

#define BLOCKS 40

static void *kept[BLOCKS];
static int wrong;

static int answer(void)
{
	return 42;
}

/* Only malloc and memory may be touched here: nothing else is sure to be relocated. */
__attribute__((used)) static int (*resolve(void))(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		size_t size = (size_t)(i + 1) * (size_t)(i % 4 == 3 ? 5000 : 20);
		volatile char *block = malloc(size);

		if (block == NULL) {
			wrong++;
			continue;
		}
		block[size - 1] = (char)i;
		kept[i] = (void *)(uintptr_t)block;
		if (i % 3 == 0) {
			free(kept[i]);
			kept[i] = NULL;
		}
	}
	return answer;
}

int picked(void) __attribute__((ifunc("resolve")));

int main(void)
{
	void *again[BLOCKS];

	check_allocator();
	CHECK(picked() == 42, "the ifunc was resolved");
	CHECK(wrong == 0, "%d allocations failed in the resolver", wrong);
	for (int i = 0; i < BLOCKS; i++) {
		again[i] = hide(malloc((size_t)(i + 1) * 20));
		memset(again[i], 0xff, (size_t)(i + 1) * 20);
	}
	for (int i = 0; i < BLOCKS; i++) {
		size_t size = (size_t)(i + 1) * (size_t)(i % 4 == 3 ? 5000 : 20);

		CHECK(kept[i] == NULL || ((char *)kept[i])[size - 1] == (char)i, "block %d", i);
		free(kept[i]);
		free(again[i]);
	}
	check_purge();
	return 0;
}
