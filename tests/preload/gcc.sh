#!/bin/bash
# gcc and g++: a large generated C file, C++ templates and (when the tree is at hand) our own sources,
# compiled with and without us; every output must be the same byte for byte, and the C++ program must run right.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need gcc g++ ld

cd "$SCRATCH"
"$PYTHON" -I - <<'END'
import random
generator = random.Random(7)
with open("large.c", "w") as out:
    out.write("#include <stdio.h>\n#include <string.h>\n#include <stdlib.h>\nstruct item { int key; double weight; char name[32]; };\n")
    for i in range(60):
        a, b, c = (generator.randrange(1, 1000) for _ in range(3))
        out.write("""static const int table_%d[] = { %s };
static int work_%d(struct item *items, int count, const char *text)
{
	int sum = %d;
	for (int i = 0; i < count; i++) {
		switch ((items[i].key + i) %% 7) {
		case 0: sum += table_%d[(i * %d) %% 40]; break;
		case 1: sum ^= items[i].key << (i %% 13); break;
		case 2: items[i].weight *= 1.0 + %d / 100.0; sum += (int)items[i].weight; break;
		case 3: sum -= (int)strlen(items[i].name) * %d; break;
		default: for (int j = i; j < count && j < i + 5; j++) sum += items[j].key * j; break;
		}
	}
	return text && strstr(text, "%d") ? -sum : sum;
}
""" % (i, ", ".join(str(generator.randrange(10**6)) for _ in range(40)), i, a, i, b, c, a % 9 + 1, b))
    out.write("int main(void)\n{\n\tstruct item items[64];\n\tlong long total = 0;\n\tmemset(items, 0, sizeof(items));\n")
    out.write("\tfor (int i = 0; i < 64; i++) {\n\t\titems[i].key = i * 37 % 101;\n\t\titems[i].weight = i;\n\t\tsnprintf(items[i].name, 32, \"item %d\", i);\n\t}\n")
    for i in range(60):
        out.write("\ttotal += work_%d(items, 64, \"text %d\");\n" % (i, i))
    out.write("\tprintf(\"%lld\\n\", total);\n\treturn 0;\n}\n")
END
cat >templates.cpp <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <unsigned N> struct sum {
	static constexpr unsigned long value = N + sum<N - 1>::value;
};
template <> struct sum<0> {
	static constexpr unsigned long value = 0;
};
template <std::size_t... I> auto squares(std::index_sequence<I...>)
{
	return std::make_tuple((I * I)...);
}
struct alignas(64) wide {
	unsigned long words[16];
};

static unsigned long part(unsigned seed)
{
	std::map<std::string, std::vector<std::shared_ptr<std::string>>> table;
	std::unordered_map<unsigned, std::variant<int, std::string, std::vector<double>>> mixed;
	for (unsigned i = 0; i < 20000; i++) {
		seed = seed * 1664525u + 1013904223u;
		table["key " + std::to_string(seed % 500)].push_back(std::make_shared<std::string>(seed % 200, 'x'));
		if (seed % 3 == 0)
			mixed[seed % 1000] = std::vector<double>(seed % 50, 0.5);
		else
			mixed[seed % 1000] = std::string(seed % 90, 'y');
		if (seed % 11 == 0)
			table.erase("key " + std::to_string(seed % 499));
	}
	unsigned long total = 0;
	for (auto &[key, list] : table)
		for (auto &text : list)
			total += text->size() + key.size();
	auto aligned = std::make_unique<wide[]>(100);
	if (reinterpret_cast<std::uintptr_t>(aligned.get()) % 64 != 0)
		return 0;
	try {
		(void)std::string("short").at(seed % 7 + 100);
	} catch (const std::out_of_range &error) {
		total += std::string(error.what()).empty() ? 0 : 1;
	}
	return total + mixed.size();
}

int main()
{
	std::vector<unsigned long> results(4);
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([&results, i] { results[i] = part(i + 1); });
	for (auto &thread : threads)
		thread.join();
	std::ostringstream text;
	for (int i = 0; i < 2000; i++)
		text << "name" << i << "=" << i * i << ";";
	std::regex pair("([a-z]+[0-9]+)=([0-9]+);");
	std::string all = text.str();
	auto matches = std::distance(std::sregex_iterator(all.begin(), all.end(), pair), std::sregex_iterator());
	auto tuple = squares(std::make_index_sequence<200>());
	std::cout << std::accumulate(results.begin(), results.end(), 0ul) << ' ' << matches << ' ' << sum<800>::value << ' '
		  << std::get<199>(tuple) << '\n';
	return 0;
}
END

sources=(large.c templates.cpp)
# A copy: both builds must see the same text also while somebody edits it.
root=$SCRATCH/tree
mkdir "$root"
cp -r "$HERE/../../src" "$HERE/../../include" "$root"
for file in "$root"/src/slabs/*.c; do
	[ ! -e "$file" ] || sources+=("$file")
done

build() { # DIRECTORY LAUNCHER...
	local directory=$1 file compiler object
	shift
	mkdir -p "$directory"
	for file in "${sources[@]}"; do
		compiler=gcc
		[[ $file != *.cpp ]] || compiler=g++
		object=$directory/$(echo "${file#"$root"/}" | tr / _).o
		"$@" "$compiler" -O2 -D_GNU_SOURCE -DEBB_CHECKED=0 -DEBB_PARANOID=0 -DEBB_SANITIZED=0 -I "$root/src" \
			-I "$root/include" -c "$file" -o "$object" 2>"$directory/errors.log" || fail "$file: $(cat "$directory/errors.log")"
	done
	"$@" gcc "$directory/large.c.o" -o "$directory/large"
	"$@" g++ -pthread "$directory/templates.cpp.o" -o "$directory/templates"
}

log=$SCRATCH/witness
build reference env
build preload witnessed "$log"
count=0
for object in reference/*.o reference/large reference/templates; do
	cmp "$object" "preload/${object#*/}" || fail "${object#*/} is compiled differently"
	count=$((count + 1))
done
note "$count outputs are the same"
assert_witnessed "$log" cc1 $((${#sources[@]} - 1))
assert_witnessed "$log" cc1plus
assert_witnessed "$log" '(x86_64-linux-gnu-|aarch64-linux-gnu-)?ld(\.bfd)?' 2

assert_equal "the large program" "$(reference/large)" "$(witnessed "$log" preload/large)"
assert_equal "the C++ program" "$(reference/templates)" "$(witnessed "$log" preload/templates)"
note "the C++ program says: $(preloaded preload/templates)"
assert_witnessed "$log" templates
