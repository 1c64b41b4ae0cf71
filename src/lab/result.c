#include "lab/result.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

#define EXIT_COULD_NOT_MEASURE 3

void ebbi_result_note(struct run_result *result, const char *format, ...)
{
	va_list arguments;

	if (result->note_count == RESULT_NOTES)
		return;
	va_start(arguments, format);
	vsnprintf(result->notes[result->note_count++], RESULT_NOTE_BYTES, format, arguments);
	va_end(arguments);
}

bool ebbi_mark_bytes(const struct mark *mark, enum basis basis, uint64_t *ret_bytes)
{
	const struct tree_memory *memory = &mark->memory;
	bool exact = memory->refused == 0 && memory->processes > 0;

	if (!mark->taken || (!exact && (basis == BASIS_PSS || mark->statm_bytes == 0)))
		return false;
	if (basis == BASIS_PSS)
		*ret_bytes = memory->pss_bytes + memory->swap_pss_bytes;
	else
		*ret_bytes = exact ? memory->rss_bytes : mark->statm_bytes;
	return true;
}

static void consider_mark(const struct mark *mark, bool *tree, bool *refused)
{
	if (!mark->taken)
		return;
	*tree = *tree || mark->memory.processes > 1;
	*refused = *refused || mark->memory.refused > 0;
}

static enum basis basis_of(const struct run_result *result)
{
	bool tree = false, refused = false;

	consider_mark(&result->boot, &tree, &refused);
	consider_mark(&result->load_end, &tree, &refused);
	consider_mark(&result->last, &tree, &refused);
	for (size_t i = 0; i < result->rest_count; i++)
		consider_mark(&result->rest[i], &tree, &refused);
	if (!tree)
		return BASIS_RSS;
	return refused ? BASIS_RSS_SUM : BASIS_PSS;
}

static void raise_peak(struct peak *peak, uint64_t bytes, enum peak_source source)
{
	if (bytes <= peak->bytes)
		return;
	peak->bytes = bytes;
	peak->source = source;
}

static void raise_by_mark(struct run_result *result, const struct mark *mark)
{
	uint64_t bytes;

	if (ebbi_mark_bytes(mark, result->basis, &bytes))
		raise_peak(&result->peak, bytes, PEAK_SAMPLES);
}

void ebbi_result_conclude(struct run_result *result)
{
	struct peak *peak = &result->peak;

	result->basis = basis_of(result);
	peak->bytes = 0;
	peak->source = PEAK_NONE;
	/* One process can never hold more than the tree does: its own mark is a lower bound. */
	raise_peak(peak, peak->hwm_bytes, PEAK_HWM);
	raise_peak(peak, peak->exit_bytes, PEAK_EXIT);
	if (result->basis == BASIS_RSS_SUM || result->processes_most <= 1)
		raise_peak(peak, peak->rss_bytes, PEAK_SAMPLES);
	if (result->processes_most > 1)
		raise_peak(peak, peak->pss_bytes, PEAK_SAMPLES);
	raise_by_mark(result, &result->boot);
	raise_by_mark(result, &result->load_end);
	raise_by_mark(result, &result->last);
	for (size_t i = 0; i < result->rest_count; i++)
		raise_by_mark(result, &result->rest[i]);
	/* Too short to be read: a stray sample says less than the bound from its end. */
	if (peak->hwm_bytes == 0 && peak->exit_bytes == 0 && result->processes_most <= 1)
		raise_peak(peak, peak->at_most_bytes, PEAK_AT_MOST);
	peak->bound_bytes = ebbi_counter_bound(result->machine.kernel, result->machine.cpus, result->machine.page_bytes,
					       result->threads_most ? result->threads_most : 1);
	peak->upper_bytes = peak->bytes;
	if (result->processes_most > 1 && peak->rss_bytes > peak->bytes)
		peak->upper_bytes = peak->rss_bytes;
}

/* The exit code of the command, in the way of env(1) and the shells. */
static int status_exit(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Ended by the SIGTERM we sent, or by its own handler for it. */
static bool ended_as_asked(int status)
{
	int code = status_exit(status);

	return code == 0 || code == 128 + SIGTERM;
}

int ebbi_result_exit(const struct run_result *result)
{
	int code = result->main_reaped ? status_exit(result->main_status) : EXIT_COULD_NOT_MEASURE;

	switch (result->outcome) {
	case OUTCOME_COMPLETE:
		/* We stopped it ourselves: that it died of it is no failure. */
		return result->killed || ended_as_asked(result->main_status) ? 0 : code;
	case OUTCOME_ENDED:
		return code;
	case OUTCOME_DIED_EARLY:
	case OUTCOME_DIED_LOADED:
		return code ? code : EXIT_COULD_NOT_MEASURE;
	case OUTCOME_INTERRUPTED:
		return 128 + (result->stop_signal ? result->stop_signal : SIGINT);
	case OUTCOME_NOT_READY:
	case OUTCOME_LOAD_FAILED:
		break;
	}
	return EXIT_COULD_NOT_MEASURE;
}
