/* The malloc family, function by function: what each returns, for ordinary and for odd arguments. */
#include "check.h"

static void test_malloc_zero(void)
{
	void *first = hide(malloc(hide_size(0)));
	void *second = hide(malloc(hide_size(0)));
	void *third = hide(calloc(hide_size(0), 8));
	void *fourth = hide(calloc(8, hide_size(0)));

	CHECK(first != NULL && second != NULL, "malloc(0) is not NULL");
	CHECK(third != NULL && fourth != NULL, "calloc of nothing is not NULL");
	CHECK(first != second && second != third && third != fourth, "malloc(0) is unique");
	free(first);
	free(second);
	free(third);
	free(fourth);
	free(NULL);
}

/* Every size: aligned to 16, all of it writable, and never on top of the 64 blocks before it. */
static void test_every_size(void)
{
	enum { KEPT = 64 };
	uint8_t *kept[KEPT] = {NULL};
	size_t sizes[KEPT] = {0};

	for (size_t size = 1; size <= 100000; size++) {
		unsigned at = (unsigned)(size % KEPT);
		size_t middle = sizes[at] / 2;

		if (kept[at] != NULL) {
			CHECK(kept[at][0] == (uint8_t)sizes[at] && kept[at][middle] == (uint8_t)sizes[at] &&
				      kept[at][sizes[at] - 1] == (uint8_t)sizes[at],
			      "a block of %zu bytes was overwritten", sizes[at]);
			free(kept[at]);
		}
		kept[at] = hide(malloc(size));
		sizes[at] = size;
		CHECK(kept[at] != NULL, "malloc(%zu)", size);
		CHECK(((uintptr_t)kept[at] & 15) == 0, "malloc(%zu) = %p", size, (void *)kept[at]);
		CHECK(malloc_usable_size(kept[at]) >= size, "usable size of %zu", size);
		if (size <= 4096 || size % 97 == 0)
			memset(kept[at], (uint8_t)size, size);
		kept[at][0] = kept[at][size / 2] = kept[at][size - 1] = (uint8_t)size;
	}
	for (unsigned i = 0; i < KEPT; i++)
		free(kept[i]);
}

static void test_reallocarray(void)
{
	uint8_t *block = hide(reallocarray(NULL, 10, 100));

	CHECK(block != NULL && malloc_usable_size(block) >= 1000, "reallocarray(NULL)");
	pattern_fill(block, 1000, 1);
	block = hide(reallocarray(block, 100, 100));
	CHECK(block != NULL && pattern_find(block, 1000, 1000, 1) == SIZE_MAX, "reallocarray grows");
	errno = 0;
	CHECK(reallocarray(block, hide_size(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM, "reallocarray overflow");
	errno = 0;
	CHECK(reallocarray(block, hide_size((size_t)1 << 32), (size_t)1 << 32) == NULL && errno == ENOMEM,
	      "reallocarray overflow to 0");
	CHECK(pattern_find(block, 1000, 1000, 1) == SIZE_MAX, "a refused reallocarray keeps the block");
	free(block);
}

static void test_malloc_usable_size(void)
{
	CHECK(malloc_usable_size(NULL) == 0, "usable size of NULL");
	for (size_t size = 0; size <= 4 << 20; size += 1 + size / 7) {
		uint8_t *block[3];
		size_t usable[3];

		for (unsigned i = 0; i < 3; i++) {
			block[i] = hide(malloc(size));
			CHECK(block[i] != NULL, "malloc(%zu)", size);
			usable[i] = malloc_usable_size(block[i]);
			CHECK(usable[i] >= size, "usable %zu of %zu", usable[i], size);
			memset(block[i], (int)(i + 1), usable[i]);
		}
		for (unsigned i = 0; i < 3; i++) {
			CHECK(malloc_usable_size(block[i]) == usable[i], "stable for %zu", size);
			for (size_t at = 0; at < usable[i]; at += at < 64 ? 1 : 61)
				CHECK(block[i][at] == i + 1, "block of %zu at %zu", size, at);
			CHECK(usable[i] == 0 || block[i][usable[i] - 1] == i + 1, "end of %zu", size);
			free(block[i]);
		}
	}
}

/* Programs that use all of malloc_usable_size expect realloc to keep all of it. */
static void test_usable_survives_realloc(void)
{
	for (size_t size = 1; size <= 1 << 20; size += 1 + size / 5) {
		uint8_t *block = hide(malloc(size));
		size_t usable = malloc_usable_size(block);

		memset(block, 0x5a, usable);
		block = hide(realloc(block, usable + 1 + usable / 2));
		CHECK(block != NULL, "realloc");
		for (size_t at = 0; at < usable; at++)
			CHECK(block[at] == 0x5a, "byte %zu of %zu usable was lost", at, usable);
		free(block);
	}
}

typedef void free_sized_fn(void *, size_t);
typedef void free_aligned_sized_fn(void *, size_t, size_t);

static void test_sized_frees(void)
{
	void *symbol = dlsym(RTLD_DEFAULT, "free_sized");
	void *aligned_symbol = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	free_sized_fn *free_sized_pointer;
	free_aligned_sized_fn *free_aligned_sized_pointer;

	if (!check_on_ebb() && symbol == NULL)
		return; /* glibc has none before 2.43 or so */
	CHECK(symbol != NULL && aligned_symbol != NULL, "the sized frees of C23 exist");
	memcpy(&free_sized_pointer, &symbol, sizeof(symbol));
	memcpy(&free_aligned_sized_pointer, &aligned_symbol, sizeof(aligned_symbol));
	free_sized_pointer(NULL, 0);
	free_aligned_sized_pointer(NULL, 64, 0);
	for (size_t size = 1; size < 3 << 20; size += 1 + size / 3) {
		errno = 4711;
		free_sized_pointer(hide(malloc(size)), size);
		free_sized_pointer(hide(calloc(size, 1)), size);
		for (size_t alignment = 16; alignment <= 65536; alignment *= 4)
			free_aligned_sized_pointer(hide(aligned_alloc(alignment, size)), alignment, size);
		CHECK(errno == 4711, "sized frees keep errno");
	}
}

static const char *library_of(const char *name)
{
	Dl_info info;
	void *symbol = dlsym(RTLD_DEFAULT, name);

	return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fname : NULL;
}

/* One allocator serves all names: a family of two would free what the other made. */
static void test_one_family(void)
{
	static const char *const names[] = {
		"malloc",
		"free",
		"calloc",
		"realloc",
		"reallocarray",
		"aligned_alloc",
		"posix_memalign",
		"memalign",
		"valloc",
		"pvalloc",
		"malloc_usable_size",
		"malloc_trim",
		"mallinfo",
		"mallinfo2",
		"malloc_info",
		"mallopt",
		"malloc_stats",
		"free_sized",
		"free_aligned_sized",
	};
	const char *ours = library_of("ebb_version");
	const char *cfree = library_of("cfree");

	if (ours == NULL)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *library = library_of(names[i]);

		CHECK(library != NULL, "%s exists", names[i]);
		CHECK(strcmp(library, ours) == 0, "%s comes from %s", names[i], library);
	}
	CHECK(cfree == NULL || strcmp(cfree, ours) != 0, "cfree left the C library in 2.26");
}

/* What the C library allocates and the program frees. */
static void test_libc_objects(void)
{
	char *text = NULL;
	size_t length = 0;

	text = hide(strdup("twice"));
	CHECK(strcmp(text, "twice") == 0, "strdup");
	free(text);
	text = hide(strndup("twice", 3));
	CHECK(strcmp(text, "twi") == 0, "strndup");
	free(text);
	CHECK(asprintf(&text, "%0500d", 7) == 500, "asprintf");
	text = realloc(text, 2000);
	CHECK(text != NULL && strlen(text) == 500, "realloc of asprintf's");
	free(text);
	FILE *stream = open_memstream(&text, &length);
	CHECK(stream != NULL, "open_memstream");
	for (int i = 0; i < 10000; i++)
		fprintf(stream, "%d ", i);
	fclose(stream);
	CHECK(length == strlen(text) && length > 40000, "open_memstream's text");
	free(text);
	stream = fopen("/proc/self/status", "r");
	CHECK(stream != NULL, "fopen");
	text = NULL;
	length = 0;
	while (getline(&text, &length, stream) > 0)
		CHECK(malloc_usable_size(text) >= length, "getline's buffer");
	free(text);
	fclose(stream);
	text = hide(realpath("/proc/self/../self", NULL));
	CHECK(text != NULL, "realpath");
	free(text);
	text = hide(getcwd(NULL, 0));
	CHECK(text != NULL, "getcwd");
	free(text);
}

int main(void)
{
	check_allocator();
	test_one_family();
	test_malloc_zero();
	test_every_size();
	test_reallocarray();
	test_malloc_usable_size();
	test_usable_survives_realloc();
	test_sized_frees();
	test_libc_objects();
	return 0;
}
