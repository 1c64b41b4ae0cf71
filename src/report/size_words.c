#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "report/size_text.h"
#include "report/words.h"

static const char *const error_words[] = {
#define WORDS(id, key, words) words,
	GENERATOR_ERRORS(WORDS)
#undef WORDS
};

const char *ebbi_size_box(char *ret_text, uint64_t bytes)
{
	static const char units[] = "KMGT";
	int unit = -1;

	while (unit < 3 && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64, bytes);
	else
		snprintf(ret_text, FORMAT_BYTES, "%" PRIu64 "%c", bytes, units[unit]);
	return ret_text;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

static unsigned most_frequent_status(const struct generator_result *load)
{
	unsigned found = 0;

	for (unsigned i = 1; i < 1000; i++) {
		if (load->status[i] > load->status[found])
			found = i;
	}
	return found;
}

void ebbi_size_errors(const struct generator_result *load, char *ret_text, size_t size)
{
	char count[FORMAT_BYTES];

	ret_text[0] = 0;
	for (size_t i = 0; i < GENERATOR_ERROR_COUNT; i++) {
		if (load->errors[i] == 0)
			continue;
		append(ret_text, size, "%s%s %s", ret_text[0] ? ", " : "", ebbi_format_count(count, load->errors[i]),
		       error_words[i]);
		if (i == GENERATOR_STATUS)
			append(ret_text, size, " (mostly %u)", most_frequent_status(load));
	}
	if (load->problem[0] && load->errors[GENERATOR_BAD])
		append(ret_text, size, ": %s", load->problem);
	if (load->not_opened > 0)
		append(ret_text, size, "%s%" PRIu64 " connections could not be opened (%s)", ret_text[0] ? "; " : "",
		       load->not_opened, strerror(load->open_error));
}

static double part(uint64_t of, uint64_t whole)
{
	return whole ? 100.0 * (double)of / (double)whole : 0;
}

/* Who had the CPUs, when the generator did not keep up. */
static void machine_reason(const struct generator_result *load, char *ret_text, size_t size)
{
	snprintf(
		ret_text, size,
		"this machine is the limit, and the server's own is not known: the load used %.0f %% of a CPU and waited "
		"for one %.0f %% of the time; %.1f %% was served",
		part(load->cpu_ns, load->wall_ns), part(load->waited_ns, load->wall_ns),
		part(load->served, load->offered));
}

void ebbi_size_reason(const struct sizing *sizing, const struct sizing_row *row, char *ret_text, size_t size)
{
	const struct generator_result *load = row->load;
	char errors[512], sentence[512];

	ret_text[0] = 0;
	switch (row->verdict) {
	case ROW_SERVED:
		break;
	case ROW_LATE:
		snprintf(ret_text, size, "late: a p99 of %.0f ms is above %.0f ms",
			 (double)ebbi_latency_quantile(&load->latency, 0.99) / 1e6, (double)sizing->late_ns / 1e6);
		break;
	case ROW_REFUSED:
		snprintf(ret_text, size, "refused: %.1f %% were answered with 503 and Retry-After",
			 part(load->refused, load->offered));
		break;
	case ROW_NOT_SERVED:
		snprintf(ret_text, size, "not served: %.1f %% of what was offered was served",
			 part(load->served, load->offered));
		break;
	case ROW_DIED:
		if (!ebbi_sentence_outcome(&row->trial->result, sentence, sizeof(sentence)))
			snprintf(sentence, sizeof(sentence), "the command ended");
		snprintf(ret_text, size, "died: %s", sentence);
		break;
	case ROW_MACHINE:
		machine_reason(load, ret_text, size);
		break;
	case ROW_NO_LOAD:
		snprintf(ret_text, size, "no load: %s", load->message[0] ? load->message : "it ended early");
		break;
	}
	ebbi_size_errors(load, errors, sizeof(errors));
	if (errors[0])
		append(ret_text, size, "%s%s", ret_text[0] ? "; " : "", errors);
	if (load->done && load->connections < row->connections)
		append(ret_text, size, "%s%" PRIu32 " of %" PRIu32 " connections were open at the start",
		       ret_text[0] ? "; " : "", load->connections, row->connections);
}
