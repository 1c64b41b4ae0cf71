/* A known profile of a program in C++. */
#include "profiled.h"

namespace shop
{
template <typename Item> struct Basket {
	__attribute__((noinline)) void put(const Item &)
	{
		record(24 << 20, 24);
		__asm__ volatile("");
	}
};

struct Order {
	Basket<long> basket;

	__attribute__((noinline)) int add(int item)
	{
		basket.put(item);
		__asm__ volatile("");
		return item;
	}
};
} // namespace shop

int main()
{
	shop::Order order;

	begin(512 << 10);
	order.add(1);
	wait_for_the_end();
	return 0;
}
