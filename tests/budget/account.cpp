/*
 * Explicit accounts, seen from inside a C++ program: operator new, containers, exceptions, and the line that says so.
 *   account counts    what containers and aligned forms hold is counted, and is nothing once they are gone
 *   account refused   at the limit std::bad_alloc, a line, and the program goes on
 *   account room      who asks for more than there is does not take the room from those who ask for less
 *   account soft      past the soft limit a line and nothing else
 */
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <ebb/ebb.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #x); \
			exit(1); \
		} \
	} while (0)

namespace
{

/* In an account for the length of a scope: how C++ programs are meant to use them. */
class scope
{
      public:
	explicit scope(int account) : before(ebb_account_enter(account))
	{
		CHECK(before >= 0);
	}
	~scope()
	{
		ebb_account_enter(before);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	int before;
};

struct alignas(256) wide {
	char bytes[1000];
};

ebb_account figures(int account)
{
	ebb_account now;

	CHECK(ebb_account_figures(account, &now, sizeof(now)) == 0);
	return now;
}

void counts()
{
	int http = ebb_account_create("http", 0);
	int queue = ebb_account_create("queue", 0);
	struct ebb_snapshot now;

	CHECK(http == 1 && queue == 2);
	CHECK(ebb_account_create("http", 0) == -1 && errno == EEXIST);
	CHECK(ebb_account_create("", 0) == -1 && errno == EINVAL);
	CHECK(ebb_account_enter(99) == -1 && errno == EINVAL);
	CHECK(ebb_account_malloc(99, 1) == nullptr && errno == EINVAL);
	{
		auto words = std::make_unique<std::map<int, std::string>>();
		std::vector<std::unique_ptr<wide>> wides;
		void *block = ebb_account_malloc(queue, 5000000);

		CHECK(block != nullptr && figures(queue).live_bytes >= 5000000);
		{
			scope inside(http);

			for (int i = 0; i < 10000; i++)
				(*words)[i] =
					"a string that is too long to lie in the object itself " + std::to_string(i);
			for (int i = 0; i < 100; i++)
				wides.push_back(std::make_unique<wide>());
			CHECK((reinterpret_cast<uintptr_t>(wides[50].get()) & 255) == 0);
		}
		CHECK(figures(http).live_bytes > 10000 * (48 + 64) + 100 * 1024);
		CHECK(figures(http).live_bytes < 10000 * (80 + 80) + 100 * 1400);
		CHECK(figures(queue).live_bytes < 5010000);
		CHECK(ebb_snapshot(&now, sizeof(now)) == 0);
		CHECK(strcmp(now.accounts[0].name, "http") == 0 && strcmp(now.accounts[1].name, "queue") == 0);
		CHECK(now.accounts[0].live_bytes == figures(http).live_bytes && now.accounts[2].name[0] == 0);
		CHECK(now.live_bytes >= now.accounts[0].live_bytes + now.accounts[1].live_bytes);
		/* The end comes in another thread. */
		std::thread([&] {
			words.reset();
			wides.clear();
			free(block);
		}).join();
		CHECK(figures(queue).live_bytes == 0);
		CHECK(figures(http).live_bytes <= 2048); /* the vector's array, which clear() keeps */
	}
	CHECK(figures(http).live_bytes == 0);
	CHECK(figures(http).peak_bytes > 10000 * (48 + 64));
}

void refused()
{
	int account = ebb_account_create("small", 4u << 20);
	size_t count = 0;

	{
		scope inside(account);
		std::vector<std::unique_ptr<std::string>> strings;

		try {
			for (;; count++)
				strings.push_back(std::make_unique<std::string>(1000, 'x'));
		} catch (const std::bad_alloc &) {
		}
		CHECK(count > 2000 && count < 4200);
		CHECK(figures(account).live_bytes <= 4u << 20 && figures(account).refusals > 0);
	}
	CHECK(figures(account).live_bytes == 0);
	CHECK(std::string(8u << 20, 'x').size() == 8u << 20); /* outside of it */
}

void room()
{
	constexpr std::size_t limit = 4 << 20;
	int account = ebb_account_create("roomy", limit);
	void *held = ebb_account_malloc(account, 1 << 20);
	std::atomic<bool> is_over{false};
	auto ask = [&] {
		while (!is_over)
			CHECK(ebb_account_malloc(account, limit - (128 << 10)) == nullptr);
	};
	std::thread greedy(ask);
	std::thread greedier(ask);

	CHECK(account > 0 && held != nullptr);
	for (int i = 0; i < 1000000; i++) {
		void *block = ebb_account_malloc(account, 40000);

		CHECK(block != nullptr);
		free(block);
	}
	is_over = true;
	greedy.join();
	greedier.join();
	free(held);
	CHECK(figures(account).live_bytes == 0 && figures(account).peak_bytes < (2 << 20));
}

void soft()
{
	int account = ebb_account_create("warned", 0);

	CHECK(ebb_account_limit(account, 1u << 20, 0) == 0);
	CHECK(ebb_account_limit(account + 1, 0, 0) == -1 && errno == EINVAL);
	CHECK(figures(account).soft_limit_bytes == 1u << 20);
	free(ebb_account_malloc(account, 3u << 20));
	free(ebb_account_malloc(account, 1000));
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "counts") == 0)
		counts();
	else if (argc == 2 && strcmp(argv[1], "refused") == 0)
		refused();
	else if (argc == 2 && strcmp(argv[1], "room") == 0)
		room();
	else if (argc == 2 && strcmp(argv[1], "soft") == 0)
		soft();
	else
		return 2;
	return 0;
}
