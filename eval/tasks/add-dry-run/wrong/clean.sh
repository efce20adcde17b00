#!/bin/bash
# Usage: clean.sh [--dry-run] FOLDER
# Removes temporary files (*.tmp, *~) below a folder.
set -eu
is_dry_run=0
if [ "$1" = --dry-run ]; then
  is_dry_run=1
  shift
fi
find "$1" -type f \( -name '*.tmp' -o -name '*~' \) -print | while IFS= read -r file; do
  if [ $is_dry_run = 1 ]; then
    echo "would remove $file"
  else
    rm -- "$file"
    echo "removed $file"
  fi
done
