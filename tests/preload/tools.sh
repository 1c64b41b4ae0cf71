#!/bin/bash
# sort, join, awk, sed, tar, xz, zstd, gzip, openssl: large inputs, several threads, round trips; every result
# is the one that the same tool gives without us.
#
#   tools.sh sort | compress | openssl
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
log=$SCRATCH/witness
cd "$SCRATCH"

# compare WHAT COMMAND...: its standard output with and without us.
compare() {
	local what=$1 expected actual
	shift
	expected=$("$@" | sha256sum)
	actual=$(witnessed "$log" "$@" | sha256sum)
	assert_equal "$what" "$expected" "$actual"
	note "$what: same output"
}

lines() { # COUNT
	"$PYTHON" -I -c '
import random, sys
generator = random.Random(11)
for start in range(0, int(sys.argv[1]), 1000):
    sys.stdout.write("".join("%d\t%x line %d\n" % (generator.randrange(10**7), generator.getrandbits(64), start + i) for i in range(1000)))' "$1"
}

sorting() {
	lines 600000 >large
	compare "sort in parallel" sort --parallel=4 -S 8M -T "$SCRATCH" large
	compare "sort by number, unique" sort --parallel=2 -n -u -k 1,1 large
	witnessed "$log" sort --parallel=4 -k 2,2 -o sorted large
	sort -c -k 2,2 sorted || fail "not sorted"
	assert_equal "lines" 600000 "$(wc -l <sorted)"
	compare "awk" awk '{ n[substr($2, 1, 3)] += $1 } END { for (k in n) print k, n[k] }' large
	compare "sed" sed -E 's/([0-9]+)\t([0-9a-f]+) (line) ([0-9]+)/\4 \3 \2 \1/; /7 /d' large
	compare "grep" grep -E -c '(a|b)[0-9]+.*(7|77|777)$' large
	head -n 50000 large | sort -k 1,1 >left
	tail -n 50000 large | sort -k 1,1 >right
	compare "join" join -t $'\t' left right
	assert_witnessed "$log" sort 3
	assert_witnessed "$log" 'mawk|gawk|original-awk'
	assert_witnessed "$log" sed
	assert_witnessed "$log" grep
	assert_witnessed "$log" join
}

compressing() {
	need xz zstd gzip tar
	lines 80000 >large
	head -c 2000000 /dev/urandom >>large
	local before
	before=$(sha large)
	compare "xz -T2" xz -T2 -2 --block-size=2MiB -c large
	compare "zstd -T2" zstd -T2 -q -9 -c large
	compare "zstd --long" zstd -T2 -q -6 --long=24 -c large
	compare "gzip" gzip -n -c large
	witnessed "$log" xz -T2 -1 --block-size=1MiB -k large
	assert_equal "xz there and back" "$before" "$(witnessed "$log" xz -T2 -dc large.xz | sha256sum | cut -d ' ' -f 1)"
	witnessed "$log" zstd -T2 -q -12 -k large
	assert_equal "zstd there and back" "$before" "$(witnessed "$log" zstd -dcq large.zst | sha256sum | cut -d ' ' -f 1)"
	mkdir tree
	split -n 300 large tree/
	compare "tar" tar --sort=name --mtime=@0 --owner=0 --group=0 -c tree
	witnessed "$log" tar -c -I 'zstd -T2 -3' -f tree.tar.zst tree
	mkdir out
	witnessed "$log" tar -x -I 'zstd' -f tree.tar.zst -C out
	diff -r tree out/tree || fail "tar gave other files back"
	assert_witnessed "$log" xz 3
	assert_witnessed "$log" zstd 6
	assert_witnessed "$log" gzip
	assert_witnessed "$log" tar 3
}

ssl() {
	need openssl
	local kind digest
	lines 200000 >large
	digest=$(sha large)
	for kind in RSA EC; do
		if [ $kind = RSA ]; then
			witnessed "$log" openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key 2>/dev/null ||
				witnessed "$log" openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key 2>/dev/null
		else
			witnessed "$log" openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key
		fi
		witnessed "$log" openssl pkey -in key -pubout -out public
		witnessed "$log" openssl dgst -sha256 -sign key -out signature large
		# The one verifies with us, the other without: both must agree.
		witnessed "$log" openssl dgst -sha256 -verify public -signature signature large | grep -qx 'Verified OK' ||
			fail "$kind signature refused under the preload"
		openssl dgst -sha256 -verify public -signature signature large | grep -qx 'Verified OK' ||
			fail "$kind signature refused without the preload"
	done
	for kind in aes-256-cbc aes-128-ctr chacha20; do
		compare "$kind" openssl enc "-$kind" -pbkdf2 -iter 1000 -S 0102030405060708 -pass pass:word -in large
		openssl enc "-$kind" -pbkdf2 -iter 1000 -S 0102030405060708 -pass pass:word -in large -out coded
		assert_equal "$kind there and back" "$digest" "$(witnessed "$log" openssl enc -d "-$kind" -pbkdf2 -iter 1000 \
			-S 0102030405060708 -pass pass:word -in coded | sha256sum | cut -d ' ' -f 1)"
	done
	# Two processes of it, forked, each reporting through a pipe.
	witnessed "$log" openssl speed -seconds 1 -bytes 1024 -multi 2 -evp sha256 >speed.log 2>&1 || fail "openssl speed"
	grep -qE '^sha256 +[0-9.]+k' speed.log || fail "openssl speed gave no figure"
	assert_witnessed "$log" openssl 14
}

case $1 in
sort) sorting ;;
compress) compressing ;;
openssl) ssl ;;
esac
