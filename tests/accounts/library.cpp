// As library.c, through operator new and libstdc++.
#include <cstddef>
#include <string>
#include <vector>

extern "C" void *library_hold_object(std::size_t size);
extern "C" void library_hold_string(std::size_t size);
extern "C" void library_release(void);

static std::vector<std::string> strings;

extern "C" void *library_hold_object(std::size_t size)
{
	void *volatile object = ::operator new(size);
	return object;
}

extern "C" void library_hold_string(std::size_t size)
{
	strings.push_back(std::string(size - 1, 'x'));
}

extern "C" void library_release(void)
{
	std::vector<std::string>().swap(strings);
}
