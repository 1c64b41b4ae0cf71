// Every form of operator new and operator delete of C++17, called by name so that no compiler
// may leave the call out.
#include "check.h"
#include <new>
#include <string>
#include <sys/resource.h>
#include <vector>

static const size_t sizes[] = {0, 1, 8, 24, 100, 1000, 4096, 40000, 70000, 1 << 20, 5 << 20};

static void check_block(void *pointer, size_t size, size_t alignment)
{
	CHECK(pointer != nullptr, "new of %zu", size);
	CHECK((reinterpret_cast<uintptr_t>(pointer) & (alignment - 1)) == 0, "%p, alignment %zu", pointer, alignment);
	CHECK(malloc_usable_size(pointer) >= size, "usable size");
	memset(pointer, 0x77, size);
}

static void test_plain(size_t size)
{
	void *one = hide(operator new(size));
	void *many = hide(operator new[](size));
	check_block(one, size, 16);
	check_block(many, size, 16);
	CHECK(one != many, "distinct");
	operator delete(one);
	operator delete[](many);

	one = hide(operator new(size));
	many = hide(operator new[](size));
	operator delete(one, size);
	operator delete[](many, size);

	one = hide(operator new(size, std::nothrow));
	many = hide(operator new[](size, std::nothrow));
	check_block(one, size, 16);
	check_block(many, size, 16);
	operator delete(one, std::nothrow);
	operator delete[](many, std::nothrow);
}

static void test_aligned(size_t size, size_t alignment)
{
	std::align_val_t align{alignment};
	void *one = hide(operator new(size, align));
	void *many = hide(operator new[](size, align));
	check_block(one, size, alignment);
	check_block(many, size, alignment);
	operator delete(one, align);
	operator delete[](many, align);

	one = hide(operator new(size, align));
	many = hide(operator new[](size, align));
	operator delete(one, size, align);
	operator delete[](many, size, align);

	one = hide(operator new(size, align, std::nothrow));
	many = hide(operator new[](size, align, std::nothrow));
	check_block(one, size, alignment);
	check_block(many, size, alignment);
	operator delete(one, align, std::nothrow);
	operator delete[](many, align, std::nothrow);
}

static void test_delete_null()
{
	errno = 4711;
	operator delete(hide(nullptr));
	operator delete[](hide(nullptr));
	operator delete (hide(nullptr), size_t{5});
	operator delete[](hide(nullptr), size_t{5});
	operator delete(hide(nullptr), std::nothrow);
	operator delete[](hide(nullptr), std::nothrow);
	operator delete (hide(nullptr), std::align_val_t{64});
	operator delete[](hide(nullptr), std::align_val_t{64});
	operator delete (hide(nullptr), size_t{5}, std::align_val_t{64});
	operator delete[](hide(nullptr), size_t{5}, std::align_val_t{64});
	operator delete (hide(nullptr), std::align_val_t{64}, std::nothrow);
	operator delete[](hide(nullptr), std::align_val_t{64}, std::nothrow);
	operator delete(hide(operator new(32 << 20)));
	CHECK(errno == 4711, "delete keeps errno");
}

static void test_zero()
{
	void *first = hide(operator new(hide_size(0)));
	void *second = hide(operator new[](hide_size(0)));
	CHECK(first != nullptr && second != nullptr && first != second, "new of 0 is unique");
	operator delete(first);
	operator delete[](second);
}

template <typename Allocate> static void expect_bad_alloc(Allocate allocate, const char *what)
{
	bool caught = false;

	try {
		hide(allocate());
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	CHECK(caught, "%s throws bad_alloc", what);
}

static void test_refusals()
{
	size_t huge = hide_size(PTRDIFF_MAX);
	std::align_val_t align{64};

	expect_bad_alloc([=] { return operator new(huge); }, "new");
	expect_bad_alloc([=] { return operator new[](huge); }, "new[]");
	expect_bad_alloc([=] { return operator new(hide_size(SIZE_MAX)); }, "new of SIZE_MAX");
	expect_bad_alloc([=] { return operator new(huge, align); }, "aligned new");
	expect_bad_alloc([=] { return operator new[](huge, align); }, "aligned new[]");
	CHECK(operator new(huge, std::nothrow) == nullptr, "nothrow new");
	CHECK(operator new[](huge, std::nothrow) == nullptr, "nothrow new[]");
	CHECK(operator new(huge, align, std::nothrow) == nullptr, "nothrow aligned new");
	CHECK(operator new[](huge, align, std::nothrow) == nullptr, "nothrow aligned new[]");
	expect_bad_alloc([] { return new std::vector<char>(hide_size(PTRDIFF_MAX)); }, "vector");
}

static int handler_calls;

// Gives up at the third call by uninstalling itself.
static void handler_gives_up()
{
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

static void handler_throws()
{
	handler_calls++;
	throw 42;
}

static struct rlimit old_limit;

// Makes room at the second call: the first one must be followed by another try.
static void handler_makes_room()
{
	if (++handler_calls == 2)
		CHECK(setrlimit(RLIMIT_AS, &old_limit) == 0, "setrlimit");
	CHECK(handler_calls <= 2, "there is room now");
}

static void test_new_handler()
{
	size_t huge = hide_size(PTRDIFF_MAX);

	std::set_new_handler(handler_gives_up);
	expect_bad_alloc([=] { return operator new(huge); }, "new after its handler gave up");
	CHECK(handler_calls == 3, "the handler was called %d times", handler_calls);

	handler_calls = 0;
	std::set_new_handler(handler_gives_up);
	CHECK(operator new(huge, std::nothrow) == nullptr, "nothrow");
	CHECK(handler_calls == 3, "nothrow new calls the handler too: %d", handler_calls);

	handler_calls = 0;
	std::set_new_handler(handler_gives_up);
	expect_bad_alloc([=] { return operator new (huge, std::align_val_t{128}); }, "aligned new");
	CHECK(handler_calls == 3, "aligned new calls the handler too: %d", handler_calls);

	handler_calls = 0;
	std::set_new_handler(handler_throws);
	bool caught = false;
	try {
		hide(operator new(huge));
	} catch (int value) {
		caught = value == 42;
	}
	CHECK(caught && handler_calls == 1, "what the handler throws comes through");
	std::set_new_handler(nullptr);
}

static void test_handler_makes_room()
{
	CHECK(getrlimit(RLIMIT_AS, &old_limit) == 0, "getrlimit");
	struct rlimit small = {static_cast<rlim_t>(proc_status("VmSize:")) * 1024 + (32 << 20), old_limit.rlim_max};

	handler_calls = 0;
	CHECK(setrlimit(RLIMIT_AS, &small) == 0, "setrlimit");
	std::set_new_handler(handler_makes_room);
	void *block = hide(operator new (size_t{1} << 30));
	std::set_new_handler(nullptr);
	CHECK(block != nullptr && handler_calls == 2, "the handler was called %d times", handler_calls);
	operator delete(block);
}

static void test_one_family()
{
	static const char *const names[] = {
		"_Znwm",
		"_Znam",
		"_ZnwmRKSt9nothrow_t",
		"_ZnamRKSt9nothrow_t",
		"_ZnwmSt11align_val_t",
		"_ZnamSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t",
		"_ZdlPv",
		"_ZdaPv",
		"_ZdlPvm",
		"_ZdaPvm",
		"_ZdlPvRKSt9nothrow_t",
		"_ZdaPvRKSt9nothrow_t",
		"_ZdlPvSt11align_val_t",
		"_ZdaPvSt11align_val_t",
		"_ZdlPvmSt11align_val_t",
		"_ZdaPvmSt11align_val_t",
		"_ZdlPvSt11align_val_tRKSt9nothrow_t",
		"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	};
	Dl_info ours;
	void *version = dlsym(RTLD_DEFAULT, "ebb_version");

	if (version == nullptr)
		return;
	CHECK(dladdr(version, &ours) != 0, "dladdr");
	for (const char *name : names) {
		Dl_info info;
		void *symbol = dlsym(RTLD_DEFAULT, name);

		CHECK(symbol != nullptr && dladdr(symbol, &info) != 0, "%s exists", name);
		CHECK(strcmp(info.dli_fname, ours.dli_fname) == 0, "%s comes from %s", name, info.dli_fname);
	}
}

struct alignas(256) wide {
	char text[300];
};

// What programs write, as opposed to what the operators are called.
static void test_expressions()
{
	std::vector<std::string> words;

	for (int i = 0; i < 20000; i++)
		words.push_back(std::string(static_cast<size_t>(i % 300), 'x') + std::to_string(i));
	for (int i = 0; i < 20000; i++)
		CHECK(words[static_cast<size_t>(i)].size() >= static_cast<size_t>(i % 300), "string");
	wide *row = static_cast<wide *>(hide(new wide[7]));
	CHECK((reinterpret_cast<uintptr_t>(row) & 255) == 0, "alignas is kept by new[]");
	delete[] row;
}

int main()
{
	check_allocator();
	test_one_family();
	for (size_t size : sizes) {
		test_plain(size);
		for (size_t alignment = 16; alignment <= 2 << 20; alignment *= 2)
			test_aligned(size, alignment);
	}
	test_zero();
	test_delete_null();
	test_refusals();
	test_new_handler();
	test_handler_makes_room();
	test_expressions();
	return 0;
}
