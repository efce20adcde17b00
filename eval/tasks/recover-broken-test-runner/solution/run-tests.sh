#!/bin/bash
cd "$(dirname "$0")" && exec node --test test/*.test.js
