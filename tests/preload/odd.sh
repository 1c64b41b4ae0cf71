#!/bin/bash
# Programs that live oddly, all under the preload:
#
#   odd.sh daemon   double fork, every descriptor closed, then work
#   odd.sh jail     chroot to an empty directory, rights given away
#   odd.sh tls      libraries with static TLS opened late: as many fit as without us
#   odd.sh deep     a library opened with RTLD_DEEPBIND, which would look malloc up in libc first
#   odd.sh audit    LD_AUDIT beside LD_PRELOAD
#   odd.sh env      an empty environment: with and without us in it
#   odd.sh rights   setpriv, su, runuser and a user change in perl, as root
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$SCRATCH"
log=$SCRATCH/witness

daemonize() {
	local pid tick
	witnessed "$log" "$EBB_HELPERS/daemon" "$SCRATCH/result" </dev/null
	for ((tick = 0; tick < 300; tick++)); do
		[ -e result ] && break
		sleep 0.1
	done
	[ -e result ] || fail "the daemon wrote no result in 30 s"
	note "$(cat result)"
	pid=$(sed -n 's/^pid=\([0-9]*\) .*/\1/p' result)
	assert_mapped "$pid" daemon
	assert_equal "parent of the daemon is not us" no "$([ "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")" = $$ ] && echo yes || echo no)"
	assert_equal "what it saw" "faults=0 child=0 exec=0" "$(cut -d ' ' -f 2- result)"
	rm result
	for ((tick = 0; tick < 100; tick++)); do
		[ -e "/proc/$pid" ] || break
		sleep 0.1
	done
	[ ! -e "/proc/$pid" ] || fail "the daemon $pid did not end"
	assert_witnessed "$log" daemon
	assert_witnessed "$log" true
}

jail() {
	mkdir empty
	local -a enter=() leave=()
	if [ "$(id -u)" = 0 ]; then
		leave=(65534)
	else
		enter=(unshare --user --map-root-user)
	fi
	witnessed "$log" "${enter[@]}" "$EBB_HELPERS/jail" "$SCRATCH/empty" "${leave[@]}" >jail.out || fail "jail ended with status $?"
	assert_equal "what it saw" "jail faults=0 child=0" "$(cat jail.out)"
	assert_witnessed "$log" jail
}

tls() {
	local i expected
	local -a libraries=()
	for ((i = 0; i < 24; i++)); do
		cp "$EBB_HELPERS/tlslib.so" "tls$i.so"
		libraries+=("$SCRATCH/tls$i.so")
	done
	expected=$("$EBB_HELPERS/tlshost" "${libraries[@]}")
	note "without us: $expected"
	[[ $expected =~ ^opened=[1-9][0-9]?\ wrong=0$ ]] || fail "the test itself does not work: $expected"
	assert_equal "with us" "$expected" "$(witnessed "$log" "$EBB_HELPERS/tlshost" "${libraries[@]}")"
	assert_witnessed "$log" tlshost
}

deep() {
	# It is not there under its bare name: only the program's own RUNPATH leads to it.
	assert_equal "without us" "deep 3003" "$(cd / && "$EBB_HELPERS/deephost" deeplib.so)"
	witnessed "$log" "$EBB_HELPERS/deephost" deeplib.so >deep.out || fail "deephost ended with status $?"
	assert_equal "with us" "deep 3003" "$(cat deep.out)"
	assert_witnessed "$log" deephost
}

audit() {
	local expected
	cat >work.pl <<'END'
my %h = map { $_ => "x" x ($_ % 100) } 1 .. 20000;
for (1 .. 20) { my $pid = fork // die; exit 0 if !$pid; waitpid $pid, 0; die if $? }
system("/bin/true") == 0 or die;
print length(join '', map { $h{$_} } sort keys %h), "\n";
END
	expected=$(perl work.pl)
	export EBB_AUDIT_LOG=$SCRATCH/audited
	assert_equal "perl under LD_AUDIT" "$expected" "$(witnessed "$log" env LD_AUDIT="$EBB_HELPERS/audit.so" perl work.pl)"
	assert_equal "threads under LD_AUDIT" "opened=0 wrong=0" \
		"$(witnessed "$log" env LD_AUDIT="$EBB_HELPERS/audit.so" "$EBB_HELPERS/tlshost")"
	unset EBB_AUDIT_LOG
	grep -qE '^objects=[0-9]+$' audited || fail "the audit library did not run"
	note "audited: $(tr '\n' ' ' <audited)"
	assert_witnessed "$log" perl
}

environment() {
	local expected
	expected=$("$PYTHON" -I -c 'print(sum(len(str(i)) for i in range(100000)))')
	assert_equal "python with only LD_PRELOAD in its environment" "$expected" \
		"$(env -i LD_PRELOAD="$WITNESS:$LIB" EBB_WITNESS_LOG="$log" "$PYTHON" -I -c 'print(sum(len(str(i)) for i in range(100000)))')"
	assert_witnessed "$log" 'python3.*'
	# The parent is under us, the child lost the environment: each must work, and only the parent be ours.
	cat >work.pl <<'END'
sub mapped { open my $maps, "<", "/proc/self/maps"; return scalar grep { index($_, $ARGV[0]) >= 0 } <$maps> }
if (@ARGV > 1) { print mapped() ? "mapped\n" : "free\n"; exit }
print mapped() ? "mapped\n" : "free\n";
%ENV = ();
exec $^X, $0, $ARGV[0], "child" if !fork;
wait;
END
	assert_equal "parent and child" "mapped free" "$(preloaded perl work.pl "$LIB" 2>&1 | sort -r | tr '\n' ' ' | sed 's/ $//')"
}

rights() {
	local user expected
	[ "$(id -u)" = 0 ] || fail "this test gives rights away: it needs root"
	for user in nobody www-data; do
		expected="uid=$(id -u $user)($user) gid=$(id -g $user)($(id -gn $user)) groups=$(id -g $user)($(id -gn $user))"
		# With the preload set while the program that drops the rights runs.
		assert_equal "setpriv to $user" "$expected" "$(preloaded setpriv --reuid $user --regid "$(id -g $user)" --clear-groups \
			--no-new-privs --inh-caps=-all id)"
		assert_equal "su to $user" "$expected" "$(preloaded su -s /bin/sh $user -c id)"
		assert_equal "runuser to $user" "$expected" "$(preloaded runuser -u $user -- id)"
	done
	cat >work.pl <<'END'
use POSIX;
sub burst { my @kept = map { "x" x $_ } 1 .. 6000; return length join '', @kept }
# The field of every thread of this process, each value once.
sub threads_say {
	my ($field) = @_;
	my %seen;
	for my $status (glob "/proc/self/task/*/status") {
		open my $lines, "<", $status or next;
		/^$field:\s*(.*)/ and $seen{$1} = 1 for <$lines>;
	}
	return join ",", sort keys %seen;
}
open my $maps, "<", "/proc/self/maps" or die;
die "not mapped" if !grep { index($_, $ARGV[0]) >= 0 } <$maps>;
# Freed memory is owed to the kernel and root's thread, if the allocator has one, is about to give it back.
burst() for 1 .. 3;
select undef, undef, undef, 0.3;
print scalar(my @tasks = glob "/proc/self/task/*"), " threads before\n";
POSIX::setgid(65534); POSIX::setuid(65534);
print "capabilities ", threads_say("CapEff"), "\n";
# Nobody may stay behind with the old rights: looked for while memory goes on being used, at most 15 seconds.
my $uids;
for (1 .. 30) {
	burst();
	$uids = threads_say("Uid");
	last if $uids eq join "\t", (65534) x 4;
	select undef, undef, undef, 0.5;
}
print "users $uids\n";
my $pid = fork; if (!$pid) { exit(burst() % 100) } waitpid $pid, 0;
print "user $> burst ", burst(), " child ", $? >> 8, "\n";
END
	preloaded perl work.pl "$LIB" >rights.out || fail "perl ended with status $?"
	note "$(cat rights.out)"
	expected=$(printf 'capabilities 0000000000000000\nusers 65534\t65534\t65534\t65534\nuser 65534 burst 18003000 child 0')
	assert_equal "perl after setuid" "$expected" "$(tail -n +2 rights.out)"
}

case $1 in
daemon) daemonize ;;
jail) jail ;;
tls) tls ;;
deep) deep ;;
audit) audit ;;
env) environment ;;
rights) rights ;;
esac
