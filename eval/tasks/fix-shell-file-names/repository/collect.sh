#!/bin/bash
# Copies all .txt files below a folder into another one.
set -e
mkdir -p $2
cd $1
for file in $(find . -name '*.txt'); do
  cp $file $OLDPWD/$2
done
