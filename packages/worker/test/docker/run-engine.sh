#!/usr/bin/env bash
# Runs a private container engine for tests, in PID and mount namespaces of its own.
#   run-engine.sh FOLDER PROGRAM [ARGUMENT...]
# Its stdin receives the commands `start` and `kill SIGNAL`, one per line. It replies `done` to each. When its stdin ends, which
# is also when the test process dies, it kills every process of the engine and its containers, and removes their mounts,
# their control groups and the folder.
set -uo pipefail

if [[ ${1:-} != --inside ]]; then
  folder=$1
  trap '' INT TERM HUP # only the end of stdin stops it
  unshare --pid --fork --kill-child --mount-proc --propagation private -- "$BASH" "${BASH_SOURCE[0]}" --inside "$@"
  # Podman's control groups have a fixed parent. Those that are in use cannot be removed.
  for group in /sys/fs/cgroup{,/*}/{"${folder##*/}",libpod_parent}; do
    [[ ! -d $group ]] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  rm -rf "$folder"
  exit
fi

# Engines write to these folders, whatever their options say.
folder=$2
shift 2
mount -t tmpfs tmpfs /run
for path in etc opt var/cache; do
  mkdir -p "/run/.changes/$path" "/run/.work/$path"
  mount -t overlay overlay -o "lowerdir=/$path,upperdir=/run/.changes/$path,workdir=/run/.work/$path" "/$path"
done
# Programs that an engine starts need its libraries too, but not all engines pass their environment on.
if [[ -n ${ENGINE_LIBRARIES:-} && -d $ENGINE_LIBRARIES ]]; then
  echo "$ENGINE_LIBRARIES" >/etc/ld.so.conf.d/engine.conf
  ldconfig -i
fi
# The ids of --userns-remap=nobody:nogroup.
for file in /etc/subuid /etc/subgid; do echo nobody:2000000:65536 >>$file; done
# Podman stores images only with this file.
if [[ -n ${ENGINE_POLICY:-} ]]; then
  mkdir -p /etc/containers
  echo "$ENGINE_POLICY" >/etc/containers/policy.json
fi
# Images are imported and removed several times as fast as on a disk.
[[ -n ${ENGINE_ON_DISK:-} ]] ||
  mount -t tmpfs -o "mode=755${ENGINE_DATA_MB:+,size=${ENGINE_DATA_MB}m}" tmpfs "$folder/data"
cd "$folder" # Podman writes to its working folder
ulimit -n "$(ulimit -Hn)"

engine=
while read -r command argument; do
  case $command in
  start)
    "$@" </dev/null >>"$folder/log" 2>&1 &
    engine=$!
    ;;
  kill)
    kill "-$argument" "$engine"
    [[ $argument = STOP || $argument = CONT ]] || { kill -CONT "$engine" 2>/dev/null; wait "$engine" 2>/dev/null; }
    ;;
  esac
  echo done
done
