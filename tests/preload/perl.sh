#!/bin/bash
# perl: regular expressions, hashes, sort, sprintf, fork, interpreter threads, serialisation; one digest, the
# same as without us.
# shellcheck source=tests/preload/lib.sh
. "$(dirname "$0")/lib.sh"
need perl

cat >"$SCRATCH/work.pl" <<'END'
use strict;
use warnings;
use threads;
use threads::shared;
use Digest::SHA qw(sha256_hex);
use Storable qw(freeze thaw dclone);
use Encode qw(encode decode);
my @digests;

my %table;
for my $i (1 .. 60000) { push @{ $table{ "key " . $i % 977 } }, "value $i" x ($i % 9); delete $table{ "key " . ($i * 7) % 977 } if $i % 5 == 0; }
push @digests, sha256_hex(join '|', map { "$_=@{$table{$_}}" } sort keys %table);

my $text = join "\n", map { sprintf "%05d user%d\@example%d.org %s", $_, $_, $_ % 13, 'word ' x ($_ % 30) } 1 .. 8000;
my %seen;
$seen{$2}++ while $text =~ /(\w+)@(\w+)\.org/g;
(my $changed = $text) =~ s/(\d+) (user\d+)/$2:$1/g;
$changed =~ s/(word\s+)+/<$1>/g;
push @digests, sha256_hex($changed . join ',', map { "$_$seen{$_}" } sort keys %seen);

my $copy = thaw freeze dclone [ map { { id => $_, list => [ 1 .. $_ % 40 ] } } 1 .. 2000 ];
push @digests, sha256_hex(join ',', map { $_->{id} . scalar @{ $_->{list} } } @$copy);
push @digests, sha256_hex(encode('UTF-8', join '', map { chr(0x400 + $_ % 256) x 30 } 1 .. 3000));

my @sums :shared;
for my $round (1 .. 3) {
	my @threads = map { my $n = $_; threads->create(sub {
		my %mine = map { $_ => "$_" x ($n + 1) } 1 .. 3000;
		my $sum = 0;
		$sum += length $mine{$_} for keys %mine;
		lock @sums;
		$sums[$n] = $sum;
		return $sum;
	}) } 0 .. 4;
	my $total = 0;
	$total += $_->join for @threads;
	push @digests, $total, "@sums";
}
for my $i (1 .. 200) {
	my $pid = fork // die "fork: $!";
	if (!$pid) { my %h = map { $_ => [ ($_) x 5 ] } 1 .. 300; exit(keys(%h) / 100 + $i % 2); }
	waitpid $pid, 0;
	push @digests, $? >> 8;
}
print sha256_hex(join ',', @digests), "\n";
END
log=$SCRATCH/witness
export PERL_HASH_SEED=0
expected=$(perl "$SCRATCH/work.pl")
actual=$(witnessed "$log" perl "$SCRATCH/work.pl")
assert_equal "digest of perl's work" "$expected" "$actual"
[[ $actual =~ ^[0-9a-f]{64}$ ]] || fail "no digest: $actual"
assert_witnessed "$log" perl
