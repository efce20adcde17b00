set -u
fail() { echo "FAIL: $1"; exit 1; }
script=$PWD/clean.sh
work=$(mktemp -d)
cd "$work" || exit 1
fill() { mkdir -p d/e && touch d/a.tmp "d/e/b c~" d/keep; }
fill
for arguments in "--dry-run d" "d --dry-run"; do
  output=$(bash "$script" $arguments | sort) || fail "$arguments fails"
  [ "$output" = "$(printf 'would remove d/a.tmp\nwould remove d/e/b c~')" ] || fail "$arguments prints: $output"
  [ -e d/a.tmp ] && [ -e "d/e/b c~" ] || fail "$arguments removes files"
done
bash "$script" --dryrun d 2> error; [ $? = 2 ] || fail "an unknown option is accepted"
grep -qi usage error || fail "there is no usage line"
[ -e d/a.tmp ] || fail "an unknown option removes files"
bash "$script" d > /dev/null || fail "it fails"
[ ! -e d/a.tmp ] && [ ! -e "d/e/b c~" ] && [ -e d/keep ] || fail "it removes the wrong files"
