#!/bin/bash
# Copies all .txt files below a folder into another one.
set -e
mkdir -p -- "$2"
find "$1" -type f -name '*.txt' -exec cp -- {} "$2/" \;
