#!/bin/bash
# bash: thousands of forks in pipelines, substitutions and background jobs; sums and counts are known.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$SCRATCH/forks.sh" <<'END'
grep -q "$FORKS_LIBRARY" /proc/$$/maps || { echo "not mapped"; exit 1; }
total=0
for ((i = 0; i < 1500; i++)); do
	value=$(echo $((i * 3)))
	total=$((total + value))
done
echo "substitutions $total"
total=0
for ((i = 0; i < 200; i++)); do
	value=$(printf '%s\n' {1..50} | while read -r n; do echo $((n * i)); done | { sum=0; while read -r n; do sum=$((sum + n)); done; echo $sum; })
	total=$((total + value))
done
echo "pipelines $total"
declare -A table
for ((i = 0; i < 20000; i++)); do
	table[key$((i % 700))]+=x$i
done
echo "table ${#table[@]} ${#table[key5]}"
for ((i = 0; i < 300; i++)); do
	( exit $((i % 5)) ) &
	pids[i]=$!
done
bad=0
for ((i = 0; i < 300; i++)); do
	wait "${pids[i]}"
	[ $? = $((i % 5)) ] || bad=$((bad + 1))
done
echo "jobs wrong $bad"
text=
for ((i = 0; i < 3000; i++)); do
	text+="line $i
"
done
echo "here $(wc -l <<<"${text%?}") ${#text}"
for ((i = 0; i < 150; i++)); do
	/bin/true || echo "true failed"
done
seq 1 60 | xargs -n 1 -P 4 expr 2 \* | sort -n | md5sum
END
log=$SCRATCH/witness
export FORKS_LIBRARY=libc.so
expected=$(bash "$SCRATCH/forks.sh")
FORKS_LIBRARY=$LIB
actual=$(witnessed "$log" bash "$SCRATCH/forks.sh")
assert_equal "what the script says" "$expected" "$actual"
[[ $actual == *"substitutions 3372750"*"jobs wrong 0"* ]] || fail "the sums are wrong: $actual"
note "$actual"
assert_witnessed "$log" bash
assert_witnessed "$log" true 150
assert_witnessed "$log" expr 60

# dash as well: /bin/sh runs most scripts of a system.
cat >"$SCRATCH/forks-sh.sh" <<'END'
i=0 total=0
while [ $i -lt 1000 ]; do
	total=$((total + $(echo $i)))
	i=$((i + 1))
done
echo "$total"
END
assert_equal "dash" 499500 "$(witnessed "$log" dash "$SCRATCH/forks-sh.sh")"
assert_witnessed "$log" dash
