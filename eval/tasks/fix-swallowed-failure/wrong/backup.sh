#!/bin/bash
# Usage: backup.sh DATABASE_COMMAND FILE
set -euo pipefail
(eval "$1") | gzip > "$2"
echo "backup written to $2"
