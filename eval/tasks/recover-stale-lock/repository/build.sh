#!/bin/bash
# Joins the parts. Only one build may run at a time.
set -eu
cd "$(dirname "$0")"
lock=.build/lock
if ! mkdir -p .build || ! mkdir "$lock" 2> /dev/null; then
  echo "build.sh: another build is running (lock: $lock, owner: $(cat "$lock/owner" 2> /dev/null || echo unknown))" >&2
  exit 1
fi
trap 'rm -rf "$lock"' EXIT
mkdir -p dist
cat parts/*.txt > dist/app.txt
echo "built dist/app.txt"
