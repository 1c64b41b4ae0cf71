#!/bin/bash
# nginx: two workers, files of many sizes, gzip and a proxy hop, under load, with a reload in the middle;
# then curl in parallel over TLS, itself under the allocator. Every answer is checked.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need nginx curl openssl

port=$(free_port)
tls=$(free_port)
mkdir "$SCRATCH/site"
"$PYTHON" -I - "$SCRATCH" <<'END'
import hashlib, random, sys
generator = random.Random(1)
scratch = sys.argv[1]
with open(scratch + "/manifest", "w") as manifest:
    for number, size in enumerate([0, 1, 100, 4095, 4096, 70000, 300000, 1000000, 5000000] + [2000] * 20):
        words = b" ".join(b"%x" % generator.randrange(5000) for _ in range(size // 4 + 1))[:size]
        data = words if number % 2 else generator.randbytes(size)
        name = "f%d.%s" % (number, "txt" if number % 2 else "bin")
        with open(scratch + "/site/" + name, "wb") as file:
            file.write(data)
        for prefix in ("/", "/hop/"):
            manifest.write("%s%s\t%s\n" % (prefix, name, hashlib.sha256(data).hexdigest()))
END
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$SCRATCH/key" -out "$SCRATCH/certificate" 2>/dev/null
cat >"$SCRATCH/nginx.conf" <<END
$([ "$(id -u)" != 0 ] || echo 'user nobody nogroup;')
worker_processes 2;
daemon off;
pid $SCRATCH/nginx.pid;
error_log stderr warn;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path $SCRATCH/body;
	proxy_temp_path $SCRATCH/proxy;
	fastcgi_temp_path $SCRATCH/fastcgi;
	uwsgi_temp_path $SCRATCH/uwsgi;
	scgi_temp_path $SCRATCH/scgi;
	types { text/plain txt; application/octet-stream bin; }
	gzip on;
	gzip_comp_level 4;
	server {
		listen 127.0.0.1:$port;
		listen 127.0.0.1:$tls ssl;
		ssl_certificate $SCRATCH/certificate;
		ssl_certificate_key $SCRATCH/key;
		root $SCRATCH/site;
		location /hop/ { proxy_pass http://127.0.0.1:$port/; proxy_buffers 4 16k; }
	}
}
END

workers=()
check_workers() {
	local worker tick
	local old=" ${workers[*]} "
	# After a reload two new ones come, and the old two leave when they have answered what they had begun.
	for ((tick = 0; tick < 300; tick++)); do
		read -ra workers <<<"$(children "$SERVER")"
		[ ${#workers[@]} = 2 ] && [[ $old != *" ${workers[0]} "* && $old != *" ${workers[1]} "* ]] && break
		sleep 0.1
	done
	((tick < 300)) || fail "workers of nginx: ${workers[*]}, after$old"
	for worker in "${workers[@]}"; do
		assert_mapped "$worker" "nginx worker"
	done
}

start_server nginx nginx -p "$SCRATCH" -e stderr -c "$SCRATCH/nginx.conf"
wait_tcp "$SERVER" "$port"
assert_mapped "$SERVER" "nginx master"
check_workers
for round in plain --gzip; do
	"$PYTHON" -I "$HERE/load.py" --port "$port" --requests 1160 --connections 16 --manifest "$SCRATCH/manifest" \
		${round/plain/} >"$SCRATCH/answers" || fail "$round: $(cat "$SCRATCH/answers")"
	note "$round: $(cat "$SCRATCH/answers")"
	kill -HUP "$SERVER"
	check_workers
done

log=$SCRATCH/witness
mkdir "$SCRATCH/fetched"
while IFS=$'\t' read -r path _; do
	printf 'url = "https://127.0.0.1:%s%s"\noutput = "%s"\n' "$tls" "$path" "$SCRATCH/fetched/${path//\//_}"
done <"$SCRATCH/manifest" >"$SCRATCH/urls"
witnessed "$log" curl --silent --show-error --fail --parallel --parallel-max 12 --compressed \
	--cacert "$SCRATCH/certificate" --config "$SCRATCH/urls" 2>"$SCRATCH/curl.log" || fail "curl failed"
count=0
while IFS=$'\t' read -r path digest; do
	# curl makes no file of an empty answer
	[ -e "$SCRATCH/fetched/${path//\//_}" ] || : >"$SCRATCH/fetched/${path//\//_}"
	assert_equal "$path through curl" "$digest" "$(sha "$SCRATCH/fetched/${path//\//_}")"
	count=$((count + 1))
done <"$SCRATCH/manifest"
assert_equal "files that curl fetched" 58 "$count"
assert_witnessed "$log" curl
stop_server "$SERVER" 0
