/**
 * A command that searches memory, environments, arguments and files of everything in the sandbox for texts. It gets the
 * texts reversed, so that it does not find itself, and prints the number of each text that it finds. Agents reserve up to
 * 100 GB of addresses, so it only reads parts with pages that are in memory or swapped out.
 */
export function searchCommand(texts: string[]): string {
  const reversed = texts.map((text) => [...text].reverse().join(""));
  return `perl -e '${script.trim().replaceAll(/\n\s*/g, " ")}' ${reversed.join(" ")}`;
}

const script = `
use strict; my @texts = map { scalar reverse } @ARGV; my %found; my $looked = 0;
sub look { my ($text, $place) = @_; for my $n (0 .. $#texts) { $found{"found $n in $place"} = 1 if index($text, $texts[$n]) >= 0 } }
sub slurp { open my $f, "<", $_[0] or return ""; binmode $f; local $/; my $t = <$f>; defined $t ? $t : "" }
for my $pid (grep { $_ != $$ } map { m{/([0-9]+)$} } glob "/proc/[0-9]*") {
  look(slurp("/proc/$pid/$_"), $_) for qw(environ cmdline);
  open my $mem, "<", "/proc/$pid/mem" or next;
  open my $pages, "<", "/proc/$pid/pagemap" or next;
  for (split /\\n/, slurp("/proc/$pid/maps")) {
    next unless /^([0-9a-f]+)-([0-9a-f]+) r/ and my ($from, $to) = (hex $1, hex $2);
    for (my $at = $from; $at < $to; $at += 64_000_000) {
      sysseek($pages, int($at / 4096) * 8, 0) and sysread($pages, my $states, 125_008) or last;
      next unless grep { $_ >= 64 } unpack("(x7C)*", $states);
      sysseek($mem, $at, 0) or last;
      my $end = $at + 64_001_000 < $to ? $at + 64_001_000 : $to;
      sysread($mem, my $text, $end - $at) or last; $looked += length $text; look($text, "memory");
    }
  }
}
my @files = split /\\0/, qx(find /workspace /home /tmp /etc /run /dev/shm -type f -size -20M -print0 2> /dev/null);
look(slurp($_), "files") for @files;
print "$_\\n" for sort keys %found;
print "looked at ", ($looked > 10_000_000 ? "memory" : "nothing"), " and ", (@files > 10 ? "files" : "nothing"), "\\n";
`;
