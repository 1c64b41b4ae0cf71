#include "cli/exposition.h"

#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CALLS(X) \
	X(MHD_start_daemon) \
	X(MHD_stop_daemon) \
	X(MHD_run_wait) \
	X(MHD_get_daemon_info) \
	X(MHD_create_response_from_buffer) \
	X(MHD_add_response_header) \
	X(MHD_queue_response) \
	X(MHD_destroy_response)

static struct {
#define X(name) __typeof__ (&(name))(name);
	CALLS(X)
#undef X
	struct MHD_Daemon *daemon;
	char *text;
	size_t length;
} server;

static bool load(void)
{
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
		/* POSIX promises that a function's address survives the way through void *. */
#define X(name) \
	*(void **)&server.name = dlsym(library, #name); \
	if (!server.name) \
		return false;
	CALLS(X)
#undef X
	return true;
}

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *text, size_t length)
{
	struct MHD_Response *response =
		server.MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	server.MHD_add_response_header(response, "Content-Type",
				       status == 200 ? "text/plain; version=0.0.4; charset=utf-8"
						     : "text/plain; charset=utf-8");
	result = server.MHD_queue_response(connection, status, response);
	server.MHD_destroy_response(response);
	return result;
}

/* Its parameters are the library's. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *upload_size, void **request)
{
	static const char elsewhere[] = "ebb watch: the figures are at /metrics\n";

	(void)context;
	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, elsewhere, sizeof(elsewhere) - 1);
	if (strcmp(url, "/metrics") != 0)
		return respond(connection, MHD_HTTP_NOT_FOUND, elsewhere, sizeof(elsewhere) - 1);
	return respond(connection, MHD_HTTP_OK, server.text ? server.text : "", server.length);
}

/* Host and port; without a host this machine alone. */
static bool split(const char *address, char *ret_host, size_t size, const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	const char *port = colon ? colon + 1 : address;

	if (port[0] == 0 || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5 || atoi(port) > 65535 ||
	    length >= size)
		return false;
	*ret_port = port;
	if (length > 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	snprintf(ret_host, size, "%.*s", length ? (int)length : 9, length ? address : "127.0.0.1");
	return true;
}

static uint16_t bound_port(void)
{
	const union MHD_DaemonInfo *info = server.MHD_get_daemon_info(server.daemon, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}

int ebbi_exposition_open(const char *address, char *ret_where, size_t size, char *ret_message)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found;
	char host[256];
	const char *port;
	unsigned flags;

	if (!split(address, host, sizeof(host), &port) || getaddrinfo(host, port, &hints, &found) != 0) {
		snprintf(ret_message, EXPOSITION_MESSAGE, "--prometheus '%.200s': write PORT or HOST:PORT", address);
		return -EINVAL;
	}
	if (!load()) {
		freeaddrinfo(found);
		snprintf(ret_message, EXPOSITION_MESSAGE,
			 "--prometheus needs libmicrohttpd.so.12: install the package libmicrohttpd12");
		return -ENOENT;
	}
	flags = found->ai_family == AF_INET6 ? MHD_USE_IPv6 : MHD_NO_FLAG;
	errno = 0;
	server.daemon = server.MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_SOCK_ADDR,
						found->ai_addr, MHD_OPTION_CONNECTION_TIMEOUT, 10u,
						MHD_OPTION_CONNECTION_LIMIT, 32u, MHD_OPTION_END);
	freeaddrinfo(found);
	if (!server.daemon) {
		snprintf(ret_message, EXPOSITION_MESSAGE, "--prometheus %.200s: %s", address,
			 errno ? strerror(errno) : "cannot listen there");
		return -EADDRINUSE;
	}
	snprintf(ret_where, size, strchr(host, ':') ? "http://[%s]:%u/metrics" : "http://%s:%u/metrics", host,
		 bound_port());
	return 0;
}

void ebbi_exposition_close(void)
{
	if (server.daemon)
		server.MHD_stop_daemon(server.daemon);
	server.daemon = NULL;
	free(server.text);
	server.text = NULL;
}

void ebbi_exposition_set(const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return;
	memcpy(copy, text, length);
	free(server.text);
	server.text = copy;
	server.length = length;
}

void ebbi_exposition_serve(int timeout_ms)
{
	(void)server.MHD_run_wait(server.daemon, timeout_ms);
}
