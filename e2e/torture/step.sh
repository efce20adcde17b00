#!/bin/bash
# A step of a run, which takes `ms` milliseconds and tells by a file outside of its sandbox when it was alive. The file
# has the name of the execution. One that is killed says no end; its last line then bounds its life.
name=$1 ms=$2
file=/outside/lives/$OUTRIDER_EXECUTION_ID
say() { echo "$name $1 $EPOCHREALTIME" >> "$file"; }
exec {never}<> <(:)
end=$((${EPOCHREALTIME/./} + ms * 1000))
say begin
while ((${EPOCHREALTIME/./} < end)); do
  read -rt 0.04 -u "$never"
  say alive
done
say end
