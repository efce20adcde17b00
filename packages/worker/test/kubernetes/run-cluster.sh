#!/usr/bin/env bash
# Runs the programs of a Kubernetes node for tests, in PID, network and mount namespaces of their own.
#   run-cluster.sh FOLDER
# FOLDER/programs contains a script for each program. Stdin receives the commands `start NAME` and `kill SIGNAL NAME`, one per
# line. It replies `done` to each. When its stdin ends, which is also when the test process dies, it kills every process of
# the node and its pods, and removes their mounts, their control groups and the folder.
set -uo pipefail

folder=$1
name=${folder##*/}
hierarchies() { if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then echo /sys/fs/cgroup; else ls -d /sys/fs/cgroup/*/; fi; }

if [[ ${2:-} != inside ]]; then
  trap '' INT TERM HUP # only the end of stdin stops it
  for hierarchy in $(hierarchies); do
    # Processes cannot enter a group without processors and memory. On a single hierarchy, groups inherit them.
    mkdir -p "$hierarchy/$name"
    for file in cpuset.cpus cpuset.mems; do
      [[ ! -s $hierarchy/$file ]] || cat "$hierarchy/$file" >"$hierarchy/$name/$file"
    done
  done
  unshare --pid --net --mount --fork --kill-child --mount-proc --propagation private -- "$BASH" "${BASH_SOURCE[0]}" "$folder" inside
  for hierarchy in $(hierarchies); do
    find "$hierarchy/$name" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  rm -rf "$folder"
  exit
fi

# Kubelet, containerd and network plugins write to these folders, whatever their options say.
mount -t tmpfs tmpfs /run
for path in etc opt var/cache var/lib var/log; do
  mkdir -p "/run/.changes/$path" "/run/.work/$path"
  mount -t overlay overlay -o "lowerdir=/$path,upperdir=/run/.changes/$path,workdir=/run/.work/$path" "/$path"
done
mkdir -p /run/netns
[[ -n ${CLUSTER_ON_DISK:-} ]] || mount -t tmpfs -o mode=755 tmpfs "$folder/data"
# The kubelet shares mounts with containers.
mount --make-rshared /
if [[ -d ${ENGINE_LIBRARIES:-} ]]; then
  echo "$ENGINE_LIBRARIES" >/etc/ld.so.conf.d/engine.conf
  ldconfig -i
fi
ulimit -n "$(ulimit -Hn)"

# The node's network has an address, but leads nowhere else.
ip link set lo up
ip link add eth0 type bridge
ip addr add "$NODE_IP/24" dev eth0
ip link set eth0 up
ip route add default via "${NODE_IP%.*}.1" dev eth0
echo 1 >/proc/sys/net/ipv4/ip_forward
# Services redirect the packets between pods too.
if [[ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]]; then echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables; fi

declare -A started
while read -r command arguments; do
  case $command in
  start)
    "$BASH" "$folder/programs/$arguments" </dev/null >>"$folder/logs/$arguments" 2>&1 &
    started[$arguments]=$!
    ;;
  kill)
    read -r signal program <<<"$arguments"
    kill "-$signal" "${started[$program]}" 2>/dev/null
    [[ $signal = STOP || $signal = CONT ]] || { kill -CONT "${started[$program]}" 2>/dev/null; wait "${started[$program]}" 2>/dev/null; }
    ;;
  esac
  echo done
done
