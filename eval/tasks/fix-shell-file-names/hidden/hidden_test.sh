set -eu
check() { if ! "$@"; then echo "FAIL: $*"; exit 1; fi; }
work=$(mktemp -d)
script=$PWD/collect.sh
cd "$work"
mkdir -p "in put/sub folder"
echo 1 > "in put/a b.txt"
echo 2 > "in put/sub folder/-dash.txt"
echo 3 > "in put/sub folder/star *.txt"
echo 4 > "in put/other.md"
bash "$script" "in put" "out put"
check test "$(cat "out put/a b.txt")" = 1
check test "$(cat "out put/-dash.txt")" = 2
check test "$(cat "out put/star *.txt")" = 3
check test ! -e "out put/other.md"
mkdir empty
bash "$script" empty none
bash "$script" "$work/in put" "$work/absolute"
check test -e "$work/absolute/a b.txt"
