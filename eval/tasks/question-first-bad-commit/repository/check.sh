#!/bin/bash
. "$(dirname "$0")/price.sh"
price "${1:-1500}"
