#!/bin/bash
# Usage: clean.sh FOLDER
# Removes temporary files (*.tmp, *~) below a folder.
set -eu
find "$1" -type f \( -name '*.tmp' -o -name '*~' \) -print | while IFS= read -r file; do
  rm -- "$file"
  echo "removed $file"
done
