#!/opt/acme/bin/bash
source /opt/acme/env.sh
acme-node --test tests/*.test.js | tee result.txt
