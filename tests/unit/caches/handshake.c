/* The handshake's steps one by one, on one thread: what each party finds after each of the others' moves. */
#include "caches/handshake.h"

#include "check.h"

static struct ebbi_handshake h;

static void reset(void)
{
	ebbi_handshake_init(&h, 0);
}

static enum ebbi_enter enter(uint32_t *ret_seen)
{
	*ret_seen = ebbi_handshake_enter(&h);
	return ebbi_seen_clear(*ret_seen) ? EBBI_ENTERED : ebbi_handshake_settle(&h, *ret_seen);
}

TEST(in_and_out)
{
	uint32_t seen;

	reset();
	CHECK(ebbi_handshake_looks_idle(&h));
	CHECK(ebbi_seen_clear(ebbi_handshake_enter(&h)));
	CHECK(ebbi_handshake_is_busy(&h));
	CHECK(!ebbi_handshake_touch_clear_try(&h));
	ebbi_handshake_leave(&h);
	CHECK(!ebbi_handshake_is_busy(&h));
	CHECK(!ebbi_handshake_looks_idle(&h));
	/* Touched does not send anybody the slow way. */
	seen = ebbi_handshake_enter(&h);
	CHECK(ebbi_seen_clear(seen));
	ebbi_handshake_leave(&h);
	CHECK(ebbi_handshake_touch_clear_try(&h));
	CHECK(!ebbi_handshake_touch_clear_try(&h));
	CHECK(ebbi_handshake_looks_idle(&h));
}

TEST(handler_inside_is_nested)
{
	uint32_t seen;

	reset();
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK(ebbi_handshake_is_nested(&h));
	CHECK_EQ(enter(&seen), EBBI_NESTED);
	CHECK(ebbi_handshake_is_busy(&h));
	/* Even when somebody wants to drain: a nested handler waits for nobody. */
	CHECK(ebbi_handshake_stop_try(&h));
	CHECK_EQ(enter(&seen), EBBI_NESTED);
	CHECK(ebbi_handshake_is_busy(&h));
	ebbi_handshake_resume(&h);
	ebbi_handshake_leave(&h);
	CHECK(!ebbi_handshake_is_nested(&h));
}

TEST(stopped_owner_backs_out_as_it_was)
{
	uint32_t seen;

	reset();
	CHECK(ebbi_handshake_stop_try(&h));
	CHECK(!ebbi_handshake_stop_try(&h));
	CHECK(!ebbi_handshake_is_busy(&h));
	CHECK_EQ(enter(&seen), EBBI_STOPPED);
	CHECK(ebbi_handshake_looks_idle(&h));
	ebbi_handshake_resume(&h);
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	ebbi_handshake_leave(&h);

	CHECK(ebbi_handshake_stop_try(&h));
	CHECK_EQ(enter(&seen), EBBI_STOPPED);
	CHECK(!ebbi_handshake_is_busy(&h));
	CHECK(!ebbi_handshake_looks_idle(&h));
	ebbi_handshake_resume(&h);
	ebbi_handshake_await(&h); /* nobody holds the lock any more */
}

TEST(deferred_frees)
{
	void *objects[3][2] = {{NULL}};
	void *list;
	uint32_t seen;

	reset();
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK_EQ(enter(&seen), EBBI_NESTED);
	for (int i = 0; i < 3; i++)
		ebbi_handshake_defer(&h, objects[i]);
	ebbi_handshake_leave(&h);
	/* Announced to the owner, and kept through a drain that does not take it. */
	CHECK(ebbi_handshake_stop_try(&h));
	ebbi_handshake_resume(&h);
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK((seen & EBBI_STOP_DEFERRED) != 0);
	list = ebbi_handshake_deferred_take(&h);
	CHECK_EQ(list, (void *)objects[2]);
	CHECK_EQ(*(void **)list, (void *)objects[1]);
	CHECK_EQ(objects[1][0], (void *)objects[0]);
	CHECK(objects[0][0] == NULL);
	CHECK(ebbi_handshake_deferred_take(&h) == NULL);
	ebbi_handshake_leave(&h);
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK(ebbi_seen_clear(seen));
	ebbi_handshake_leave(&h);
}

TEST(requests)
{
	uint32_t seen;

	reset();
	ebbi_handshake_request(&h);
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK(!ebbi_seen_clear(seen));
	CHECK(ebbi_handshake_request_take(&h));
	CHECK(!ebbi_handshake_request_take(&h));
	ebbi_handshake_leave(&h);
	CHECK_EQ(enter(&seen), EBBI_ENTERED);
	CHECK(ebbi_seen_clear(seen));
	ebbi_handshake_leave(&h);
}

TEST(standing_order_stays)
{
	uint32_t seen;

	ebbi_handshake_init(&h, EBBI_STOP_SLOW);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(enter(&seen), EBBI_ENTERED);
		CHECK_EQ(seen & EBBI_STOP_SLOW, (uint32_t)EBBI_STOP_SLOW);
		ebbi_handshake_leave(&h);
		CHECK(ebbi_handshake_stop_try(&h));
		ebbi_handshake_resume(&h);
	}
}

/* What happened since the scavenger's last look must not be lost on it when an owner goes. */
TEST(given_up_caches_are_looked_at_again)
{
	reset();
	CHECK(ebbi_handshake_retire_begin(&h));
	CHECK(ebbi_handshake_is_busy(&h));
	CHECK(!ebbi_handshake_stop_try(&h));
	ebbi_handshake_retire_end(&h);
	CHECK(ebbi_handshake_touch_clear_try(&h));
	CHECK(ebbi_handshake_stop_try(&h));
	ebbi_handshake_resume(&h);
	/* From a handler that interrupted the allocator: nothing is taken. */
	(void)ebbi_handshake_enter(&h);
	CHECK(!ebbi_handshake_retire_begin(&h));
	CHECK(ebbi_handshake_stop_try(&h));
	ebbi_handshake_resume(&h);
	ebbi_handshake_leave(&h);
}

TEST(fork_remembers_who_was_outside)
{
	struct ebbi_lock registry = EBBI_LOCK_INIT(EBBI_RANK_REGISTRY);
	uint32_t seen;

	reset();
	ebbi_lock_acquire(&registry);
	(void)ebbi_handshake_enter(&h);
	ebbi_handshake_stop(&h);
	CHECK(!ebbi_handshake_quiet_try(&h));
	CHECK(!ebbi_handshake_is_quiet(&h));
	ebbi_handshake_leave(&h);
	CHECK(ebbi_handshake_quiet_try(&h));
	/* The owner flickers: it does not count. */
	seen = ebbi_handshake_enter(&h);
	CHECK(ebbi_handshake_quiet_try(&h));
	CHECK_EQ(ebbi_handshake_settle(&h, seen), EBBI_STOPPED);
	CHECK(ebbi_handshake_is_quiet(&h));
	ebbi_handshake_orphan(&h);
	ebbi_handshake_resume(&h);
	CHECK(!ebbi_handshake_is_quiet(&h));
	CHECK(ebbi_handshake_touch_clear_try(&h));
	ebbi_lock_release(&registry);
}

int main(void)
{
	RUN(in_and_out);
	RUN(handler_inside_is_nested);
	RUN(stopped_owner_backs_out_as_it_was);
	RUN(deferred_frees);
	RUN(requests);
	RUN(standing_order_stays);
	RUN(given_up_caches_are_looked_at_again);
	RUN(fork_remembers_who_was_outside);
	return check_report();
}
