/*
 * server: a small HTTP server with habits, for the tests of `ebb run`.
 *
 *   server PORT [option...]
 *     boot=MS      works (burns CPU) so long before it listens
 *     hold=MIB     keeps so much memory from the start
 *     say=TEXT     prints TEXT on stdout, in two writes, once it listens
 *     mute         never listens
 *     stubborn     ignores SIGTERM
 *     die=N        exits with N at the first request
 *     daemon       goes into the background first, as daemons do
 *     refuse=N     answers the first N requests with 503
 *
 * GET /burst?N allocates and writes N MiB in blocks of 16 KiB and frees them; GET /hold?N keeps N MiB;
 * everything else is answered with "ok".
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MIB 1048576u
#define BLOCK 16384u

static long boot_ms, refuse, die = -1;
static bool mute, background;
static const char *say;
static void *kept; /* the last of what nobody frees */

static void *taken(size_t bytes)
{
	char *block = malloc(bytes);

	if (!block)
		exit(99);
	memset(block, 0x5a, bytes);
	return block;
}

static void burst(long mib)
{
	size_t count = (size_t)mib * MIB / BLOCK;
	void **blocks = malloc(count * sizeof(*blocks));

	for (size_t i = 0; i < count; i++)
		blocks[i] = taken(BLOCK);
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
	free(blocks);
}

static void option(const char *text)
{
	const char *value = strchr(text, '=');

	value = value ? value + 1 : "";
	if (strncmp(text, "boot=", 5) == 0)
		boot_ms = atol(value);
	else if (strncmp(text, "hold=", 5) == 0)
		kept = taken((size_t)atol(value) * MIB);
	else if (strncmp(text, "say=", 4) == 0)
		say = value;
	else if (strcmp(text, "mute") == 0)
		mute = true;
	else if (strcmp(text, "stubborn") == 0)
		signal(SIGTERM, SIG_IGN);
	else if (strncmp(text, "die=", 4) == 0)
		die = atol(value);
	else if (strcmp(text, "daemon") == 0)
		background = true;
	else if (strncmp(text, "refuse=", 7) == 0)
		refuse = atol(value);
	else
		exit(98);
}

static void burn(long ms)
{
	clock_t end = clock() + ms * CLOCKS_PER_SEC / 1000;

	while (clock() < end)
		;
}

static int listen_on(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((unsigned short)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 64) != 0) {
		perror("server");
		exit(97);
	}
	return fd;
}

static void answer(int fd)
{
	static char request[4096];
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
	ssize_t length = read(fd, request, sizeof(request) - 1);

	if (length <= 0)
		return; /* a connect that asks nothing */
	request[length] = 0;
	if (die >= 0)
		exit((int)die);
	if (refuse-- > 0)
		text = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	else if (strncmp(request, "GET /burst?", 11) == 0)
		burst(atol(request + 11));
	else if (strncmp(request, "GET /hold?", 10) == 0)
		kept = taken((size_t)atol(request + 10) * MIB);
	if (write(fd, text, strlen(text)) < 0)
		return;
}

int main(int argc, char **argv)
{
	int listener;

	if (argc < 2)
		return 98;
	for (int i = 2; i < argc; i++)
		option(argv[i]);
	if (background && daemon(1, 1) != 0)
		return 96;
	burn(boot_ms);
	if (mute)
		for (;;)
			pause();
	listener = listen_on(atoi(argv[1]));
	if (say) {
		size_t half = strlen(say) / 2;

		printf("%.*s", (int)half, say);
		fflush(stdout);
		usleep(50000);
		printf("%s\n", say + half);
		fflush(stdout);
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0) {
			answer(fd);
			close(fd);
		}
	}
}
