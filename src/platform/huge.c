#include "platform/huge.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "platform/file.h"
#include "platform/syscall.h"

/* The word in brackets is the one in force. */
enum ebbi_huge_given ebbi_huge_given(void)
{
	char text[64];

	if (ebbi_syscall5(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return EBBI_HUGE_GIVEN_NEVER;
	(void)ebbi_file_read("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text));
	if (strstr(text, "[always]") != NULL)
		return EBBI_HUGE_GIVEN_ALWAYS;
	return strstr(text, "[madvise]") != NULL ? EBBI_HUGE_GIVEN_ASKED : EBBI_HUGE_GIVEN_NEVER;
}
