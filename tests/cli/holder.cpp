/* Holds known amounts by known functions, through malloc, strdup, operator new and the C++ library. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static std::vector<void *> kept;

__attribute__((noinline)) static void hold_pages()
{
	for (int i = 0; i < 512; i++)
		kept.push_back(memset(malloc(65536), 1, 65536)); /* 32 MiB */
}

__attribute__((noinline)) static void hold_names()
{
	std::string name(1023, 'n');

	for (int i = 0; i < 16384; i++)
		kept.push_back(strdup(name.c_str())); /* 16 MiB */
}

namespace shop
{
struct Basket {
	std::vector<std::string> items;

	__attribute__((noinline)) void fill()
	{
		for (int i = 0; i < 4096; i++)
			items.push_back(std::string(4095, 'i')); /* 16 MiB */
	}
};
} // namespace shop

/* Allocated and gone: it counts in totals alone. */
__attribute__((noinline)) static void pass_by()
{
	for (int i = 0; i < 1024; i++) {
		void *block = memset(malloc(65536), 1, 65536); /* 64 MiB */

		__asm__ volatile("" : : "r"(block) : "memory");
		free(block);
	}
}

int main()
{
	shop::Basket basket;

	hold_pages();
	hold_names();
	basket.fill();
	pass_by();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return kept.empty() || basket.items.empty();
}
