#!/bin/bash
# Usage: clean.sh [--dry-run] FOLDER
# Removes temporary files (*.tmp, *~) below a folder.
set -eu

usage() {
  echo "Usage: clean.sh [--dry-run] FOLDER" >&2
  exit 2
}

is_dry_run=0 folder=
for argument in "$@"; do
  case $argument in
  --dry-run) is_dry_run=1 ;;
  -*) usage ;;
  *) folder=$argument ;;
  esac
done
[ -n "$folder" ] || usage
find "$folder" -type f \( -name '*.tmp' -o -name '*~' \) -print | while IFS= read -r file; do
  if [ $is_dry_run = 1 ]; then
    echo "would remove $file"
  else
    rm -- "$file"
    echo "removed $file"
  fi
done
