/*
 * ledger.h: what an application says of its own memory, asked by a helper process.
 *
 * Owns: one helper process and one pipe a ledger; ebbi_ledger_close ends both. A helper dies with its parent.
 * Never: waits for the application: a reading is whatever the helper found last. libcurl is loaded in helpers alone.
 * Threading: one thread.
 * Errors: -EINVAL with one line when the text of a ledger is not understood. A reading that failed is a value with a problem.
 *
 * NAME=CMD: the first number that `sh -c CMD` prints. NAME=URL#path.to.key: that key of a JSON document; without "#", the
 * first number. NAME=redis[:HOST:PORT], clickhouse[:HOST:PORT], duckdb[:HOST:PORT], prometheus:HOST:PORT#METRIC: the
 * questions that these servers answer.
 */
#ifndef EBBI_OBSERVE_LEDGER_H
#define EBBI_OBSERVE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LEDGER_MESSAGE 512

enum ledger_kind { LEDGER_COMMAND, LEDGER_URL, LEDGER_REDIS };
enum ledger_form { FORM_NUMBER, FORM_JSON, FORM_REDIS, FORM_PROMETHEUS };

struct ledger_plan {
	char name[48];
	enum ledger_kind kind;
	enum ledger_form form;
	char target[1024]; /* the command, the URL, the host */
	char port[16];
	char key[256]; /* of JSON, the metric's name */
};

/* As it comes through the pipe, in one write. */
struct ledger_reading {
	uint64_t bytes;
	bool known;
	char problem[96];
};

struct ledger {
	struct ledger_plan plan;
	pid_t helper;
	int fd;
	struct ledger_reading last;
};

int ebbi_ledger_parse(const char *text, struct ledger_plan *ret_plan, char *ret_message);

/* The figure in what the application said. */
bool ebbi_ledger_extract(const struct ledger_plan *plan, const char *bytes, size_t length, uint64_t *ret_value);

/* Asks at once, and again every `interval_ns`. */
int ebbi_ledger_open(struct ledger *ledger, const struct ledger_plan *plan, uint64_t interval_ns);

/* Takes what came. With `timeout_ms` > 0, waits that long for a first one. */
void ebbi_ledger_update(struct ledger *ledger, int timeout_ms);
void ebbi_ledger_close(struct ledger *ledger);

#endif
