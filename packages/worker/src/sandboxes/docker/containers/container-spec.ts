/** What the two containers of a sandbox are allowed to do. */
import type { ContainerCreateOptions, MountSettings } from "dockerode";
import { initPath } from "../../files/programs.ts";
import type { Limits } from "../../limits.ts";
import { sandboxUser } from "../../systems/sandbox-user.ts";
import { noCopy } from "../volumes/fill-volume.ts";

/**
 * The capabilities that containers usually have, but not SYS_CHROOT, because the seccomp filter forbids chroot, and not
 * MKNOD, because a device in a volume would be one on the engine's machine. With an image, root in the sandbox has them.
 */
const imageCapabilities = [
  ...["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "SETFCAP"],
  ...["NET_BIND_SERVICE", "NET_RAW", "AUDIT_WRITE"],
];
/** What the worker's scripts need to read all files and to run as the image's user. */
const scriptCapabilities = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"];

const periodUs = 100_000;
const minQuotaUs = 1_000;

/** Hides the names of the container's control groups. The types of the client lack it. */
const privateCgroups = { CgroupnsMode: "private" };

/** A volume that a container sees. */
export interface VolumeMount {
  volume: string;
  target: string;
  readOnly?: boolean;
  /** Whether an empty volume gets the files that the image has at the target. */
  copiesImage?: boolean;
}

export interface ContainerSpec {
  image: string;
  labels: Record<string, string>;
  /** Undefined for the unprivileged user of a sandbox without an image. */
  root: "image" | "scripts" | undefined;
  mounts: VolumeMount[];
  hosts: string | undefined;
  limits: Limits;
  seccomp: string | undefined;
  runtime: string | undefined;
}

export function describeContainer(spec: ContainerSpec): ContainerCreateOptions {
  const { image, labels, root, limits, seccomp, runtime } = spec;
  return {
    Image: image,
    Labels: labels,
    Hostname: "sandbox",
    User: root ? "0:0" : `${sandboxUser.uid}:${sandboxUser.gid}`,
    WorkingDir: "/",
    Entrypoint: [initPath],
    Cmd: ["container"],
    // init ends when its stdin does, so the engine closes it when this worker disconnects.
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    // The image's health check would run outside of init.
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      NetworkMode: "none",
      IpcMode: "private",
      ...privateCgroups,
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      CapDrop: ["ALL"],
      CapAdd: root === undefined ? [] : root === "image" ? imageCapabilities : scriptCapabilities,
      SecurityOpt: ["no-new-privileges", ...(seccomp === undefined ? [] : [`seccomp=${seccomp}`])],
      ExtraHosts: ["sandbox:127.0.0.1", ...extraHosts(spec.hosts)],
      Mounts: spec.mounts.map(describeMount),
      // What init writes to stdout is not a log.
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
      Init: false,
      OomScoreAdj: 500,
      ShmSize: 64 * 2 ** 20,
      ...describeLimits(limits),
    },
  };
}

/** Swap is limited too. Otherwise, a command that exceeds its limit would swap instead of being killed. */
export function describeLimits({ memory_mb, cpus, pids, disk_mb }: Limits) {
  const bytes = memory_mb === undefined ? undefined : memory_mb * 2 ** 20;
  return {
    ...(bytes === undefined ? {} : { Memory: bytes, MemorySwap: bytes }),
    ...(cpus === undefined
      ? {}
      : { CpuPeriod: periodUs, CpuQuota: Math.max(minQuotaUs, Math.round(cpus * periodUs)) }),
    ...(pids === undefined ? {} : { PidsLimit: pids }),
    ...(disk_mb === undefined ? {} : { StorageOpt: { size: `${disk_mb}M` } }),
  };
}

function describeMount({
  volume,
  target,
  readOnly = false,
  copiesImage = false,
}: VolumeMount): MountSettings {
  return {
    ...{ Type: "volume", Source: volume, Target: target, ReadOnly: readOnly },
    ...(copiesImage ? {} : { VolumeOptions: noCopy }),
  };
}

/** Converts lines of /etc/hosts to the engine's form, which has one name and address each. */
function extraHosts(lines = ""): string[] {
  return lines.split("\n").flatMap((line) => {
    const [address, ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    return names.map((name) => `${name}:${address}`);
  });
}
