#!/bin/bash
# git: many commits, repack, clone, gc and fsck. The dates are fixed, so that every object's name must be the
# one that git gives it without us.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need git

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=$SCRATCH
"$PYTHON" -I - >"$SCRATCH/import" <<'END'
import random, sys
generator = random.Random(4)
files = {}
for number in range(1, 601):
    for _ in range(4):
        name = "d%d/f%d.txt" % (generator.randrange(12), generator.randrange(40))
        lines = files.setdefault(name, [])
        for _ in range(20):
            lines.insert(generator.randrange(len(lines) + 1), "line %d of %s" % (generator.randrange(10**6), name))
        del lines[600:]
    message = "commit %d" % number
    print("commit refs/heads/%s\ncommitter A U Thor <a@example.org> %d +0000" % ("main" if number % 9 else "side", 1700000000 + number))
    print("data %d\n%s" % (len(message), message))
    if number == 9:
        print("from refs/heads/main")
    for name, lines in sorted(files.items()):
        data = "\n".join(lines)
        print("M 100644 inline %s\ndata %d\n%s" % (name, len(data), data))
END

work() { # DIRECTORY LAUNCHER...
	local directory=$1
	shift
	export GIT_AUTHOR_DATE='1700009999 +0000' GIT_COMMITTER_DATE='1700009999 +0000'
	export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
	mkdir "$directory"
	cd "$directory"
	"$@" git init -q -b main one
	"$@" git -C one fast-import --quiet <"$SCRATCH/import"
	"$@" git -C one checkout -q main
	for i in $(seq 1 15); do
		echo "step $i" >>one/steps
		"$@" git -C one add steps
		"$@" git -C one commit -q -m "step $i"
	done
	"$@" git -C one merge -q --no-edit -s ours side
	"$@" git -C one -c pack.threads=2 gc -q --aggressive --prune=now
	"$@" git clone -q --no-local one two
	"$@" git clone -q --bare --no-local one three.git
	"$@" git -C three.git repack -q -a -d -f --threads=2
	"$@" git -C three.git fsck --full --strict >fsck 2>&1
	"$@" git -C two fsck --full >>fsck 2>&1
	"$@" git -C two grep -c "line 12" main >matches
	{
		"$@" git -C two log --all --format='%H %T %s' --stat
		"$@" git -C three.git rev-list --all --objects | sort
		"$@" git -C one diff HEAD~40 HEAD
		"$@" git -C one blame d1/f1.txt
		cat fsck matches
	} | sha256sum
	cd "$SCRATCH"
}

expected=$(work "$SCRATCH/reference" env)
log=$SCRATCH/witness
actual=$(work "$SCRATCH/preload" witnessed "$log")
assert_equal "digest of the histories" "$expected" "$actual"
assert_equal "fsck" "" "$(cat "$SCRATCH/preload/fsck")"
assert_equal "commits" 616 "$(git -C "$SCRATCH/preload/two" rev-list --count HEAD)"
diff -r -x .git "$SCRATCH/reference/two" "$SCRATCH/preload/two" || fail "the work trees differ"
assert_witnessed "$log" git 60
