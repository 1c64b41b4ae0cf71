#include "platform/random.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "platform/clock.h"
#include "platform/syscall.h"
#include "platform/thread.h"

#define GRND_NONBLOCK_FLAG 1

/* Spread every bit over the word: two multiplications with odd constants (the finaliser of MurmurHash3). */
static uint64_t stir(uint64_t word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccd;
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53;
	return word ^ word >> 33;
}

uint64_t ebbi_random_word(void)
{
	uint64_t word = 0;
	uint64_t start[2] = {0};
	const void *given;

	if (ebbi_syscall3(SYS_getrandom, (long)&word, sizeof(word), GRND_NONBLOCK_FLAG) == (long)sizeof(word))
		return word;
	given = (const void *)getauxval(AT_RANDOM);
	if (given != NULL)
		memcpy(start, given, sizeof(start));
	return stir(start[0] ^ stir(start[1] ^ ebbi_clock_now_ns()) ^ ebbi_thread_process_id());
}
