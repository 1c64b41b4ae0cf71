#!/bin/bash
# ruby: puma with five threads under load, every answer checked; then a cluster of two workers, which
# fork from a threaded parent; then ruby on its own.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need ruby puma

serve() { # what requests workers
	local port
	port=$(free_port)
	start_server "puma-$1" puma -q -t 5:5 -w "$3" -b "tcp://127.0.0.1:$port" "$HERE/puma.ru"
	wait_tcp "$SERVER" "$port"
	assert_mapped "$SERVER" "puma $1"
	"$PYTHON" -I "$HERE/load.py" --port "$port" --requests "$2" --connections 5 --computed >"$SCRATCH/answers" ||
		fail "$1: $(cat "$SCRATCH/answers")"
	note "$1: $(cat "$SCRATCH/answers")"
	if [ "$3" -gt 0 ]; then
		local worker workers=0 tick
		for ((tick = 0; tick < 300; tick++)); do
			[ "$(children "$SERVER" | wc -w)" -ge "$3" ] && break
			sleep 0.1
		done
		for worker in $(children "$SERVER"); do
			assert_mapped "$worker" "puma worker"
			workers=$((workers + 1))
		done
		assert_equal "workers of puma" "$3" "$workers"
	fi
	stop_server "$SERVER" 0 143
}

cd "$SCRATCH"
serve threads 1500 0
serve cluster 600 2

cat >"$SCRATCH/work.rb" <<'END'
require "digest/sha2"
sum = Digest::SHA256.new
threads = (0...4).map do |t|
  Thread.new do
    table = {}
    20_000.times { |i| table["key #{i % 997} #{t}"] = "value" * (i % 50) }
    Digest::SHA256.hexdigest(table.sort.flatten.join("|"))
  end
end
threads.each { |thread| sum << thread.value }
GC.start
GC.compact if GC.respond_to?(:compact)
20.times { |i| pid = fork { exit!((Array.new(5000) { |j| "#{i} #{j}" }.uniq.size) / 1000) }
           sum << Process.wait2(pid)[1].exitstatus.to_s }
sum << (1..400).inject(:*).to_s
sum << ("abc 123 déjà " * 5000).scan(/\p{L}+|\d+/).tally.to_a.inspect
puts sum
END
log=$SCRATCH/witness
expected=$(ruby "$SCRATCH/work.rb")
actual=$(witnessed "$log" ruby "$SCRATCH/work.rb")
assert_equal "digest of ruby's work" "$expected" "$actual"
assert_witnessed "$log" 'ruby.*'
