set -u
fail() { echo "FAIL: $1"; exit 1; }
[ "$(cat dist/app.txt)" = "$(printf 'first\nsecond')" ] || fail "the result is missing or wrong"
[ ! -e .build/lock ] || fail "the lock still exists"
git diff --quiet HEAD -- build.sh parts || fail "build.sh or the parts changed"
rm -r dist && bash build.sh > /dev/null && [ -s dist/app.txt ] || fail "the next build fails"
