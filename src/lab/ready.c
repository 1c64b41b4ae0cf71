#include "lab/ready.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/allocator.h"

/* Often enough that boot is not blurred; a connect costs a server some microseconds. */
#define ASK_EVERY_NS 20000000
#define CONNECT_MS 1000
#define HTTP_MS 5000L

static int refuse(char *ret_message, const char *option, const char *target, const char *remedy)
{
	snprintf(ret_message, LAB_MESSAGE, "%s %.300s: %s", option, target, remedy);
	return -EINVAL;
}

static bool is_port(const char *text)
{
	char *end;
	unsigned long port;

	if (text[0] < '0' || text[0] > '9')
		return false;
	port = strtoul(text, &end, 10);
	return *end == 0 && port >= 1 && port <= 65535;
}

/* HOST:PORT into the two; an empty host is the local one, brackets around IPv6 go. */
static bool split(const char *address, size_t length, const char *default_port, struct ready *ready)
{
	char text[sizeof(ready->host) + 16];
	char *host = text;
	char *colon, *close;

	if (length >= sizeof(text))
		return false;
	memcpy(text, address, length);
	text[length] = 0;
	close = strrchr(text, ']');
	colon = strrchr(close ? close : text, ':');
	if (colon)
		*colon = 0;
	else if (!default_port)
		return false;
	if (close) {
		if (text[0] != '[' || (close[1] != 0 && close + 1 != colon))
			return false;
		*close = 0;
		host = text + 1;
	} else if (strchr(text, ':')) {
		return false; /* IPv6 without brackets */
	}
	if (!is_port(colon ? colon + 1 : default_port) || strlen(host) >= sizeof(ready->host))
		return false;
	strcpy(ready->host, host[0] ? host : "127.0.0.1");
	snprintf(ready->port, sizeof(ready->port), "%.7s", colon ? colon + 1 : default_port);
	return true;
}

static bool split_url(const char *url, struct ready *ready)
{
	const char *default_port = "80";
	const char *at = url;
	const char *user;
	size_t length;

	if (strncasecmp(url, "http://", 7) == 0) {
		at += 7;
	} else if (strncasecmp(url, "https://", 8) == 0) {
		at += 8;
		default_port = "443";
	} else {
		return false;
	}
	length = strcspn(at, "/?#");
	user = memchr(at, '@', length);
	if (user) {
		length -= (size_t)(user + 1 - at);
		at = user + 1;
	}
	return length > 0 && split(at, length, default_port, ready);
}

int ebbi_ready_parse(enum ready_kind kind, const char *target, struct ready *ret_ready, char *ret_message)
{
	struct ready ready = {.kind = kind, .target = target};

	switch (kind) {
	case READY_TCP:
		if (!split(target, strlen(target), NULL, &ready))
			return refuse(ret_message, "--ready-tcp", target, "write HOST:PORT, such as 127.0.0.1:8080");
		break;
	case READY_HTTP:
		if (!split_url(target, &ready))
			return refuse(ret_message, "--ready-http", target,
				      "write a whole URL, such as http://127.0.0.1:8080/health");
		break;
	case READY_LOG:
		if (target[0] == 0 || strlen(target) > 1000)
			return refuse(ret_message, "--ready-log", target, "the text must have 1 to 1000 bytes");
		break;
	case READY_IDLE:
		break;
	}
	*ret_ready = ready;
	return 0;
}

static bool connects(const struct addrinfo *address)
{
	int error = 0;
	socklen_t size = sizeof(error);
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd ready = {.fd = fd, .events = POLLOUT};
	bool open;

	if (fd < 0)
		return false;
	open = connect(fd, address->ai_addr, address->ai_addrlen) == 0;
	if (!open && errno == EINPROGRESS && poll(&ready, 1, CONNECT_MS) == 1)
		open = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
	close(fd);
	return open;
}

static enum ready_answer ask_tcp(const struct ready *ready)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	enum ready_answer answer = ANSWER_NO;

	if (getaddrinfo(ready->host, ready->port, &hints, &list) != 0)
		return ANSWER_NO_HOST;
	for (struct addrinfo *at = list; at && answer != ANSWER_YES; at = at->ai_next) {
		if (connects(at))
			answer = ANSWER_YES;
	}
	freeaddrinfo(list);
	return answer;
}

/* The four functions of libcurl we need, found at run time. */
struct curl_calls {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
	CURLcode (*easy_perform)(CURL *);
	CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
};

static bool load_curl(struct curl_calls *calls)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;

	for (size_t i = 0; i < 2 && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	/* POSIX promises that a function's address survives the way through void *. */
	*(void **)&calls->easy_init = dlsym(library, "curl_easy_init");
	*(void **)&calls->easy_setopt = dlsym(library, "curl_easy_setopt");
	*(void **)&calls->easy_perform = dlsym(library, "curl_easy_perform");
	*(void **)&calls->easy_getinfo = dlsym(library, "curl_easy_getinfo");
	return calls->easy_init && calls->easy_setopt && calls->easy_perform && calls->easy_getinfo;
}

static size_t discard(char *bytes, size_t size, size_t count, void *context)
{
	(void)bytes;
	(void)context;
	return size * count;
}

static CURL *prepare(const struct curl_calls *calls, const char *url)
{
	CURL *curl = calls->easy_init();

	if (!curl)
		return NULL;
	calls->easy_setopt(curl, CURLOPT_URL, url);
	calls->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	calls->easy_setopt(curl, CURLOPT_NOPROXY, "*");
	calls->easy_setopt(curl, CURLOPT_TIMEOUT_MS, HTTP_MS);
	calls->easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
	calls->easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	calls->easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
	calls->easy_setopt(curl, CURLOPT_USERAGENT, "ebb-run");
	return curl;
}

static enum ready_answer ask_http(const struct curl_calls *calls, CURL *curl)
{
	long status = 0;

	if (calls->easy_perform(curl) != CURLE_OK)
		return ANSWER_NO;
	calls->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 400 ? ANSWER_YES : ANSWER_NO;
}

static void pause_before_next(void)
{
	struct timespec pause = {.tv_nsec = ASK_EVERY_NS};

	nanosleep(&pause, NULL);
}

__attribute__((noreturn)) static void helper_main(const struct ready *ready, pid_t launcher)
{
	struct curl_calls calls;
	CURL *curl = NULL;
	enum ready_answer answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher)
		_exit(ANSWER_NO);
	if (ready->kind == READY_HTTP) {
		curl = load_curl(&calls) ? prepare(&calls, ready->target) : NULL;
		if (!curl)
			_exit(ANSWER_NO_CURL);
	}
	for (;;) {
		answer = curl ? ask_http(&calls, curl) : ask_tcp(ready);
		if (answer == ANSWER_YES)
			_exit(ANSWER_YES);
		pause_before_next();
	}
}

int ebbi_ready_start(const struct ready *ready, pid_t *ret_helper)
{
	pid_t launcher = getpid();
	pid_t helper = fork();

	if (helper < 0)
		return -errno;
	if (helper == 0)
		helper_main(ready, launcher);
	*ret_helper = helper;
	return 0;
}

enum ready_answer ebbi_ready_ask(const struct ready *ready)
{
	struct curl_calls calls;
	int status;
	pid_t helper = fork();

	if (helper == 0) {
		/* Any answer on that port is somebody else's, so HTTP is asked by TCP, too. */
		if (ready->kind == READY_HTTP && !load_curl(&calls))
			_exit(ANSWER_NO_CURL);
		_exit(ask_tcp(ready));
	}
	while (helper > 0 && waitpid(helper, &status, 0) < 0) {
		if (errno != EINTR)
			return ANSWER_NO;
	}
	return helper > 0 && WIFEXITED(status) ? (enum ready_answer)WEXITSTATUS(status) : ANSWER_NO;
}
