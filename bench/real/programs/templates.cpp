/*
 * C++ for the compiler of bench/real: templates of the standard library, instantiated often; never run.
 * EBB_ROUNDS says how many different types are put through all of it; 0 is for tests: one container, soon done.
 */
#if EBB_ROUNDS == 0
#include <vector>
template class std::vector<long>;
#else
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct key {
	int value[N % 5 + 1] = {};
	std::string name = {};
	bool operator<(const key &other) const
	{
		return std::tie(value[0], name) < std::tie(other.value[0], other.name);
	}
	bool operator==(const key &other) const
	{
		return value[0] == other.value[0] && name == other.name;
	}
};

template <int N> struct hash_of {
	std::size_t operator()(const key<N> &k) const
	{
		return std::hash<std::string>()(k.name) * 31 + static_cast<std::size_t>(k.value[0]);
	}
};

template <int N> unsigned long exercise(const std::vector<std::string> &names)
{
	std::map<key<N>, std::vector<std::shared_ptr<key<N>>>> ordered;
	std::unordered_map<key<N>, std::variant<int, std::string, key<N>>, hash_of<N>> hashed;
	std::set<std::tuple<int, std::string, double>> tuples;
	for (const auto &name : names) {
		key<N> k;
		k.name = name;
		k.value[0] = N;
		ordered[k].push_back(std::make_shared<key<N>>(k));
		if (name.size() % 2)
			hashed.emplace(k, name);
		else
			hashed.insert_or_assign(k, k);
		tuples.emplace(N, name, static_cast<double>(name.size()));
	}
	std::vector<key<N>> keys;
	for (const auto &entry : ordered)
		keys.push_back(entry.first);
	std::stable_sort(keys.begin(), keys.end(), [](const auto &a, const auto &b) { return b < a; });
	std::function<unsigned long(const key<N> &)> size = [&](const key<N> &k) {
		return k.name.size() + tuples.size();
	};
	unsigned long total = std::accumulate(keys.begin(), keys.end(), 0ul,
					      [&](unsigned long sum, const key<N> &k) { return sum + size(k); });
	for (const auto &[k, held] : hashed)
		total += std::visit([](const auto &one) { return sizeof(one); }, held) + k.name.size();
	return total;
}

template <int... N> unsigned long all(const std::vector<std::string> &names, std::integer_sequence<int, N...>)
{
	return (0ul + ... + exercise<N>(names));
}

unsigned long run(const std::string &text)
{
	std::vector<std::string> names;
	for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
		end = std::min(text.find(' ', at), text.size());
		names.push_back(text.substr(at, end - at));
	}
	return all(names, std::make_integer_sequence<int, EBB_ROUNDS>());
}
#endif
