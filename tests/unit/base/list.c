/* Circular lists: order, removal from anywhere, links that are on no list. */
#include "base/list.h"

#include "check.h"

struct item {
	int number;
	struct ebbi_list link;
};

/* The numbers on the list as decimal digits, front first; checks the way back on the way. */
static unsigned digits(const struct ebbi_list *list)
{
	unsigned sum = 0;

	for (struct ebbi_list *link = list->next; link != list; link = link->next) {
		CHECK(link->next->prev == link);
		CHECK(link->prev->next == link);
		sum = sum * 10 + (unsigned)EBBI_CONTAINER(link, struct item, link)->number;
	}
	return sum;
}

TEST(order)
{
	struct ebbi_list list;
	struct item items[4];

	ebbi_list_init(&list);
	CHECK(ebbi_list_is_empty(&list));
	for (int i = 0; i < 4; i++)
		items[i].number = i + 1;
	ebbi_list_push_back(&list, &items[1].link);
	ebbi_list_push_back(&list, &items[2].link);
	ebbi_list_push_front(&list, &items[0].link);
	ebbi_list_insert_between(&items[3].link, &items[1].link, &items[2].link);
	CHECK(!ebbi_list_is_empty(&list));
	CHECK_EQ(digits(&list), 1243u);
}

TEST(removal)
{
	struct ebbi_list list;
	struct item items[3];

	for (unsigned order = 0; order < 27; order++) {
		unsigned left = 3;

		ebbi_list_init(&list);
		for (int i = 0; i < 3; i++) {
			items[i].number = i + 1;
			ebbi_list_push_back(&list, &items[i].link);
		}
		/* Base three digits of `order`: also removes an item twice, which must do no harm. */
		for (unsigned step = order, i = 0; i < 3; i++, step /= 3) {
			if (items[step % 3].number != 0)
				left--;
			items[step % 3].number = 0;
			ebbi_list_remove(&items[step % 3].link);
			CHECK(ebbi_list_is_empty(&items[step % 3].link));
		}
		CHECK_EQ(ebbi_list_is_empty(&list), left == 0);
		for (struct ebbi_list *link = list.next; link != &list; link = link->next)
			left--;
		CHECK_EQ(left, 0u);
	}
}

int main(void)
{
	RUN(order);
	RUN(removal);
	return check_report();
}
