#!/bin/bash
set -eu
jmerge --key id --last-wins --sort --indent 2 data/*.json > merged.json
