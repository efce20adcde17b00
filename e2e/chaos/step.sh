#!/bin/bash
# A step of a run that takes `ms` milliseconds. It appends lines with timestamps to a file outside its sandbox, named after
# the execution. A killed step writes no "end" line; its last line then marks its end.
name=$1 ms=$2
file=/outside/steps/$OUTRIDER_EXECUTION
record() { echo "$name $1 $EPOCHREALTIME" >> "$file"; }
exec {never}<> <(:)
end=$((${EPOCHREALTIME/./} + ms * 1000))
record begin
while ((${EPOCHREALTIME/./} < end)); do
  read -rt 0.04 -u "$never"
  record alive
done
record end
