#!/bin/bash
# Usage: backup.sh DATABASE_COMMAND FILE
eval "$1" | gzip > "$2"
echo "backup written to $2"
