#include "report/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const char *ebbi_word_outcome(enum lab_outcome outcome)
{
	static const char *const words[] = {
		[OUTCOME_COMPLETE] = "complete",       [OUTCOME_ENDED] = "ended",
		[OUTCOME_NOT_READY] = "not-ready",     [OUTCOME_DIED_EARLY] = "died-before-ready",
		[OUTCOME_DIED_LOADED] = "died-loaded", [OUTCOME_LOAD_FAILED] = "load-failed",
		[OUTCOME_INTERRUPTED] = "interrupted",
	};

	return words[outcome];
}

const char *ebbi_word_basis(enum basis basis)
{
	static const char *const words[] = {[BASIS_RSS] = "rss", [BASIS_PSS] = "pss", [BASIS_RSS_SUM] = "rss-sum"};

	return words[basis];
}

const char *ebbi_word_peak(enum peak_source source)
{
	static const char *const words[] = {[PEAK_NONE] = "none",
					    [PEAK_HWM] = "vmhwm",
					    [PEAK_EXIT] = "wait4",
					    [PEAK_SAMPLES] = "samples",
					    [PEAK_AT_MOST] = "wait4-at-most"};

	return words[source];
}

const char *ebbi_word_looked(enum looked when)
{
	static const char *const words[] = {[LOOKED_NEVER] = "none",
					    [LOOKED_AT_BOOT] = "boot",
					    [LOOKED_AFTER_LOAD] = "load-end",
					    [LOOKED_AT_WORK] = "work",
					    [LOOKED_AT_REST] = "rest"};

	return words[when];
}

const char *ebbi_word_ready(const struct run_result *result)
{
	switch (result->ready.kind) {
	case READY_TCP:
		return "tcp";
	case READY_HTTP:
		return "http";
	case READY_LOG:
		return "log";
	case READY_IDLE:
		break;
	}
	return result->boot_by == BOOT_BY_IDLE ? "idle" : "time";
}

const char *ebbi_word_preload(enum preload_state state)
{
	static const char *const words[] = {[PRELOAD_NONE] = "none",
					    [PRELOAD_UNKNOWN] = "unknown",
					    [PRELOAD_TAKEN] = "taken",
					    [PRELOAD_MISSED] = "missed"};

	return words[state];
}

const char *ebbi_sentence_status(int status, char *ret_text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(ret_text, size, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(ret_text, size, "exit %d", WEXITSTATUS(status));
	return ret_text;
}

bool ebbi_sentence_outcome(const struct run_result *result, char *ret_text, size_t size)
{
	char status[48];

	switch (result->outcome) {
	case OUTCOME_NOT_READY:
		snprintf(
			ret_text, size,
			"not ready after %.0f s (%s %.200s): give it longer with --ready-timeout, or see its own output",
			(double)result->total_ns / 1e9, ebbi_word_ready(result), result->ready.target);
		return true;
	case OUTCOME_DIED_EARLY:
		snprintf(ret_text, size, "the command ended before it was ready: %s",
			 ebbi_sentence_status(result->main_status, status, sizeof(status)));
		return true;
	case OUTCOME_DIED_LOADED:
		snprintf(ret_text, size, "the command ended before the measuring did: %s",
			 ebbi_sentence_status(result->main_status, status, sizeof(status)));
		return true;
	case OUTCOME_LOAD_FAILED:
		snprintf(
			ret_text, size,
			"the load failed (%s): memory at rest after work that was not done says nothing, so it was not measured",
			ebbi_sentence_status(result->load_status, status, sizeof(status)));
		return true;
	case OUTCOME_INTERRUPTED:
		snprintf(ret_text, size, "interrupted (SIG%s): the figures are those until then",
			 sigabbrev_np(result->stop_signal ? result->stop_signal : SIGINT));
		return true;
	case OUTCOME_COMPLETE:
	case OUTCOME_ENDED:
		break;
	}
	return false;
}

bool ebbi_sentence_preload(const struct run_result *result, char *ret_text, size_t size)
{
	const char *file = strrchr(result->allocator.path, '/');

	if (result->preload == PRELOAD_NONE || result->preload == PRELOAD_TAKEN ||
	    result->preload_reason == REASON_TOO_SHORT)
		return false;
	snprintf(ret_text, size, "%s %s in the command: %s", file ? file + 1 : "the library",
		 result->preload == PRELOAD_MISSED ? "is not" : "may not be",
		 ebbi_preload_sentence(result->preload_reason));
	return true;
}
