#!/bin/bash
node --test test/*.test.js | tee result.txt
