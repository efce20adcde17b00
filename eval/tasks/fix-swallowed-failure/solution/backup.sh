#!/bin/bash
# Usage: backup.sh DATABASE_COMMAND FILE
part=$2.part
trap 'rm -f -- "$part"' EXIT
(eval "$1") | gzip > "$part"
codes=("${PIPESTATUS[@]}")
for code in "${codes[@]}"; do
  if [ "$code" != 0 ]; then
    echo "backup failed with exit code $code" >&2
    exit "$code"
  fi
done
mv -- "$part" "$2"
echo "backup written to $2"
