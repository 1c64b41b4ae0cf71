#include "cli/ready.h"

#include <errno.h>
#include <stdio.h>

#include "lab/allocator.h"

int ebbi_cli_ready(const char *tcp, const char *http, const char *log, struct ready *ret_ready, char *ret_message)
{
	int given = (tcp != NULL) + (http != NULL) + (log != NULL);

	if (given > 1) {
		snprintf(ret_message, LAB_MESSAGE,
			 "--ready-tcp, --ready-http and --ready-log exclude each other: give one");
		return -EINVAL;
	}
	if (tcp)
		return ebbi_ready_parse(READY_TCP, tcp, ret_ready, ret_message);
	if (http)
		return ebbi_ready_parse(READY_HTTP, http, ret_ready, ret_message);
	if (log)
		return ebbi_ready_parse(READY_LOG, log, ret_ready, ret_message);
	*ret_ready = (struct ready){.kind = READY_IDLE};
	return 0;
}
