// Bursts of operator new and containers; see burst.h. std::bad_alloc ends a burst; a new_handler has a buffer to
// give, once a burst, as servers do that keep one for that purpose.
#include "burst.h"

#include <memory>
#include <new>
#include <string>
#include <vector>

static std::unique_ptr<char[]> spare;

static void give_spare()
{
	if (spare == nullptr)
		throw std::bad_alloc();
	spare.reset();
}

int main(int argc, char **argv)
{
	unsigned bursts = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 10;
	std::uint64_t state = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
	std::size_t most = (argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64) << 20;
	std::vector<std::string> blocks;

	std::set_new_handler(give_spare);
	for (unsigned burst = 0; burst < bursts; burst++) {
		unsigned shape = static_cast<unsigned>(burst_below(&state, 5));
		std::size_t total = most / 4 + burst_below(&state, most - most / 4);
		std::size_t held = 0;
		bool refused = false;

		try {
			if (spare == nullptr)
				spare.reset(new char[1 << 20]);
			while (held < total) {
				std::size_t bytes = burst_size(&state, shape);

				blocks.emplace_back(bytes, 'z');
				held += bytes;
			}
		} catch (const std::bad_alloc &) {
			refused = true;
		}
		std::printf("%s %zu\n", refused ? "refused" : "done", held >> 20);
		std::fflush(stdout);
		std::vector<std::string> kept;
		unsigned keep = static_cast<unsigned>(burst_below(&state, 20));
		try {
			for (std::string &block : blocks)
				if (burst_below(&state, 100) < keep)
					kept.push_back(std::move(block));
		} catch (const std::bad_alloc &) {
			kept.clear();
		}
		blocks.swap(kept);
	}
	std::printf("end %ld\n", burst_peak_kib());
	return 0;
}
