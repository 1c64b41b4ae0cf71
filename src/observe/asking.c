/* The helper of a ledger: it asks the application and says through a pipe what it heard. */
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/ledger.h"

#define ANSWER_MOST (1u << 20)
#define TIMEOUT_S 5

struct answer {
	char bytes[ANSWER_MOST];
	size_t length;
	char problem[96];
};

static bool problem(struct answer *answer, const char *what)
{
	snprintf(answer->problem, sizeof(answer->problem), "%s", what);
	return false;
}

static void append(struct answer *answer, const char *bytes, size_t length)
{
	size_t room = sizeof(answer->bytes) - answer->length;

	length = length < room ? length : room;
	memcpy(answer->bytes + answer->length, bytes, length);
	answer->length += length;
}

/* --- A command --------------------------------------------------------------------------- */

static bool ask_command(const char *command, struct answer *answer)
{
	FILE *pipe = popen(command, "re");
	char bytes[4096];
	size_t got;
	int status;

	if (!pipe)
		return problem(answer, strerror(errno));
	while ((got = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
		append(answer, bytes, got);
	status = pclose(pipe);
	if (status != 0)
		return problem(answer, "the command failed");
	return true;
}

/* --- An URL ------------------------------------------------------------------------------ */

struct curl_calls {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
	CURLcode (*easy_perform)(CURL *);
	CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
	const char *(*easy_strerror)(CURLcode);
};

static bool load_curl(struct curl_calls *calls)
{
	void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	/* POSIX promises that a function's address survives the way through void *. */
	*(void **)&calls->easy_init = dlsym(library, "curl_easy_init");
	*(void **)&calls->easy_setopt = dlsym(library, "curl_easy_setopt");
	*(void **)&calls->easy_perform = dlsym(library, "curl_easy_perform");
	*(void **)&calls->easy_getinfo = dlsym(library, "curl_easy_getinfo");
	*(void **)&calls->easy_strerror = dlsym(library, "curl_easy_strerror");
	return calls->easy_init && calls->easy_setopt && calls->easy_perform && calls->easy_getinfo &&
	       calls->easy_strerror;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
	append(context, bytes, size * count);
	return size * count;
}

static bool ask_url(const char *url, struct answer *answer)
{
	static struct curl_calls calls;
	static CURL *curl; /* kept, and with it the connection */
	CURLcode code;
	long status = 0;

	if (!curl && (!load_curl(&calls) || !(curl = calls.easy_init())))
		return problem(answer, "libcurl is not installed");
	calls.easy_setopt(curl, CURLOPT_URL, url);
	calls.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	calls.easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	calls.easy_setopt(curl, CURLOPT_NOPROXY, "127.0.0.1,localhost,::1");
	calls.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	calls.easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	calls.easy_setopt(curl, CURLOPT_USERAGENT, "ebb-watch");
	code = calls.easy_perform(curl);
	if (code != CURLE_OK)
		return problem(answer, calls.easy_strerror(code));
	calls.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status >= 300) {
		snprintf(answer->problem, sizeof(answer->problem), "HTTP status %ld", status);
		return false;
	}
	return true;
}

/* --- Redis ------------------------------------------------------------------------------- */

static int connect_to(const char *host, const char *port)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const struct timeval limit = {.tv_sec = TIMEOUT_S};
	struct addrinfo *list;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &list) != 0)
		return -1;
	for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd;
}

static bool ask_redis(const struct ledger_plan *plan, struct answer *answer)
{
	/* Inline commands: the answer ends where the connection does. */
	static const char question[] = "INFO memory\r\nQUIT\r\n";
	int fd = connect_to(plan->target, plan->port);
	char bytes[4096];
	ssize_t got;

	if (fd < 0)
		return problem(answer, "no connection");
	if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(question) - 1) {
		close(fd);
		return problem(answer, strerror(errno));
	}
	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		append(answer, bytes, (size_t)got);
	close(fd);
	if (answer->length > 0 && answer->bytes[0] == '-')
		return problem(answer,
			       "redis asks for a password: use a command, such as redis-cli -a ... info memory");
	return answer->length > 0 ? true : problem(answer, "no answer");
}

/* --- The helper -------------------------------------------------------------------------- */

static struct ledger_reading ask(const struct ledger_plan *plan)
{
	static struct answer answer;
	struct ledger_reading reading = {0};
	bool answered = false;

	answer.length = 0;
	answer.problem[0] = 0;
	switch (plan->kind) {
	case LEDGER_COMMAND:
		answered = ask_command(plan->target, &answer);
		break;
	case LEDGER_URL:
		answered = ask_url(plan->target, &answer);
		break;
	case LEDGER_REDIS:
		answered = ask_redis(plan, &answer);
		break;
	}
	if (answered)
		reading.known = ebbi_ledger_extract(plan, answer.bytes, answer.length, &reading.bytes);
	if (answered && !reading.known)
		problem(&answer, plan->key[0] ? "the answer does not hold it" : "no number in the answer");
	memcpy(reading.problem, answer.problem, sizeof(reading.problem));
	return reading;
}

__attribute__((noreturn)) static void helper_main(const struct ledger_plan *plan, uint64_t interval_ns, int fd,
						  pid_t parent)
{
	const struct timespec pause = {.tv_sec = (time_t)(interval_ns / 1000000000u),
				       .tv_nsec = (long)(interval_ns % 1000000000u)};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* A group of its own, so that closing ends what a command has started, too; the terminal is not for it. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	while (getppid() == parent) {
		struct ledger_reading reading = ask(plan);

		if (write(fd, &reading, sizeof(reading)) != (ssize_t)sizeof(reading))
			break;
		nanosleep(&pause, NULL);
	}
	_exit(0);
}

int ebbi_ledger_open(struct ledger *ledger, const struct ledger_plan *plan, uint64_t interval_ns)
{
	pid_t parent = getpid();
	int fds[2];

	*ledger = (struct ledger){.plan = *plan, .fd = -1};
	snprintf(ledger->last.problem, sizeof(ledger->last.problem), "no answer yet");
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	ledger->helper = fork();
	if (ledger->helper < 0) {
		int error = -errno;

		close(fds[0]);
		close(fds[1]);
		return error;
	}
	if (ledger->helper == 0) {
		close(fds[0]);
		helper_main(plan, interval_ns, fds[1], parent);
	}
	close(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	ledger->fd = fds[0];
	return 0;
}

void ebbi_ledger_update(struct ledger *ledger, int timeout_ms)
{
	struct pollfd ready = {.fd = ledger->fd, .events = POLLIN};
	struct ledger_reading reading;

	if (timeout_ms > 0)
		(void)poll(&ready, 1, timeout_ms);
	while (read(ledger->fd, &reading, sizeof(reading)) == (ssize_t)sizeof(reading)) {
		reading.problem[sizeof(reading.problem) - 1] = 0;
		ledger->last = reading;
	}
}

void ebbi_ledger_close(struct ledger *ledger)
{
	if (ledger->helper <= 0)
		return;
	if (kill(-ledger->helper, SIGKILL) != 0)
		kill(ledger->helper, SIGKILL);
	waitpid(ledger->helper, NULL, 0);
	close(ledger->fd);
	ledger->helper = 0;
}
