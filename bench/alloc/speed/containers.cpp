// containers: a C++ program: ordered and hashed maps, vectors of strings, lists.
#include "../bench.h"

#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

std::string text(struct rng &r)
{
	return std::string(4 + (rng_next(&r) >> 58), static_cast<char>('a' + (rng_next(&r) >> 60)));
}

uint64_t ordered(struct rng &r)
{
	std::map<uint32_t, std::string> m;
	uint64_t sum = 0;

	for (int i = 0; i < 600; i++)
		m[rng_below(&r, 1000)] = text(r);
	for (int i = 0; i < 500; i++)
		m.erase(rng_below(&r, 1000));
	for (const auto &e : m)
		sum += e.second.size();
	return sum;
}

uint64_t hashed(struct rng &r)
{
	std::unordered_map<std::string, std::vector<uint32_t>> m;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 600; i++)
		m[text(r)].push_back(i);
	for (const auto &e : m)
		sum += e.second.size();
	return sum;
}

uint64_t lists(struct rng &r)
{
	std::vector<std::string> v;
	std::list<std::string> l;
	uint64_t sum = 0;

	for (int i = 0; i < 600; i++) {
		v.push_back(text(r));
		l.push_back(v[rng_below(&r, static_cast<uint32_t>(v.size()))]);
		if (i % 3 == 0)
			l.pop_front();
	}
	for (const auto &s : l)
		sum += s.size();
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	struct bench b;
	struct rng r;
	uint64_t rounds, sum = 0;

	bench_begin(&b, argc, argv, "containers");
	rng_seed(&r, 15);
	rounds = bench_count(&b, 5500);
	for (uint64_t i = 0; i < rounds; i++)
		sum += ordered(r) + hashed(r) + lists(r);
	bench_end(&b, rounds, sum);
	return 0;
}
