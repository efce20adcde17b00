set -u
fail() { echo "FAIL: $1"; exit 1; }
script=$PWD/backup.sh
work=$(mktemp -d)
cd "$work" || exit 1
bash "$script" "echo one" good.gz || fail "a good backup fails"
[ "$(gzip -dc good.gz)" = one ] || fail "the content is wrong"
bash "$script" "echo half; exit 7" good.gz
[ $? = 7 ] || fail "the exit code is lost"
[ "$(gzip -dc good.gz)" = one ] || fail "a good backup was overwritten"
bash "$script" "echo half; exit 3" new.gz
[ $? = 3 ] || fail "the exit code is lost for a new file"
[ ! -e new.gz ] || fail "an incomplete file is left"
[ "$(ls | wc -l)" = 1 ] || fail "temporary files are left: $(ls)"
bash "$script" "echo x; exit 1" a.gz | grep -q "backup written" && fail "it reports success"
exit 0
