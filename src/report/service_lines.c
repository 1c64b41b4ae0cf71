#include "report/service_lines.h"

#include <string.h>

bool ebbi_service_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+-%";

	return text[0] && strspn(text, plain) == strlen(text);
}

void ebbi_service_shell(FILE *stream, const struct service *service)
{
	fputs("# Puts what this shell starts from now on under Ebb. Check it: ebb env --check PID\n", stream);
	/* What was there stays, behind: the first malloc wins. */
	fprintf(stream, "export LD_PRELOAD=%s${LD_PRELOAD:+:$LD_PRELOAD}\n", service->library);
	if (service->conf)
		fprintf(stream, "export EBB_CONF=%s\n", service->conf);
}

/* '%' begins a specifier of systemd's. */
static void specifier(FILE *stream, const char *text)
{
	for (; *text; text++)
		fputs(*text == '%' ? "%%" : (char[]){*text, 0}, stream);
}

void ebbi_service_systemd(FILE *stream, const struct service *service)
{
	const char *unit = service->unit ? service->unit : "NAME.service";

	fprintf(stream,
		"# Puts %s under Ebb. Save this as /etc/systemd/system/%s.d/ebb.conf\n"
		"# (sudo systemctl edit %s does), then:\n"
		"#\n"
		"#     sudo systemctl daemon-reload\n"
		"#     sudo systemctl restart %s\n"
		"#     sudo ebb env --check %s\n"
		"#\n"
		"# What other options of the unit mean for it:\n"
		"#   none       NoNewPrivileges= MemoryDenyWriteExecute= ProtectSystem= DynamicUser= User=\n"
		"#   hide it    RootDirectory= RootImage= InaccessiblePaths=, and ProtectHome= or PrivateTmp= when the\n"
		"#              library lies in /home, /root, /tmp or /var/tmp: the service must see it at this path\n"
		"#   take away  UnsetEnvironment=LD_PRELOAD, and Environment=LD_PRELOAD=... in a file that comes later\n"
		"#   filter     SystemCallFilter=@system-service allows all that Ebb calls; a list of your own needs\n"
		"#              madvise, membarrier, mremap and clone\n"
		"#   ignore it  sudo, su and set-user-ID or setcap programs in ExecStart=: use User= and\n"
		"#              AmbientCapabilities= in their place\n"
		"#   limit      MemoryMax=: EBB_CONF=budget:auto keeps the process below it\n",
		unit, unit, unit, unit, unit);
	for (size_t i = 0; i < service->note_count; i++)
		fprintf(stream, "# IN THE WAY: %s\n", service->notes[i]);
	fputs("[Service]\nEnvironment=LD_PRELOAD=", stream);
	specifier(stream, service->library);
	fputc('\n', stream);
	if (!service->conf)
		return;
	fputs("Environment=EBB_CONF=", stream);
	specifier(stream, service->conf);
	fputc('\n', stream);
}

void ebbi_service_docker(FILE *stream, const struct service *service)
{
	if (service->libc == LIBC_MUSL)
		fputs("# For an image on musl, such as Alpine; one on glibc: ebb env --docker --libc glibc.\n", stream);
	else
		fputs("# For an image on glibc, such as Debian, Ubuntu or Fedora; one on musl, such as Alpine:\n"
		      "# ebb env --docker --libc musl.\n",
		      stream);
	fprintf(stream,
		"# The library lies beside the Dockerfile: cp %s .\n"
		"COPY libebb.so /usr/local/lib/libebb.so\n"
		"# Ends the build when the image's loader does not take it.\n"
		"RUN test -z \"$(LD_PRELOAD=/usr/local/lib/libebb.so ls / 2>&1 >/dev/null)\"\n"
		"ENV LD_PRELOAD=/usr/local/lib/libebb.so\n",
		service->library);
	if (service->conf)
		fprintf(stream, "ENV EBB_CONF=%s\n", service->conf);
	else
		fputs("# Below the container's limit: ENV EBB_CONF=budget:auto\n", stream);
}
