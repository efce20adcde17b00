import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import { printable } from "../../../images/image-error.ts";
import type { Capabilities, Capability } from "../../limits.ts";
import type { Owner } from "../../owner.ts";
import { probeLabels, sandboxObjectName } from "../labels.ts";
import type { Engine } from "./connect.ts";
import { type EngineError, isEngineError } from "./errors.ts";

/** What an engine is, for operators. */
export interface EngineDescription {
  name: "docker" | "podman";
  version: string;
  apiVersion: string;
  /** Of the engine's machine, such as `Debian GNU/Linux 12 (bookworm)`. */
  system: string;
  /** As in the names of images' platforms, such as `amd64`. */
  architecture: string;
  cgroupVersion: 1 | 2;
  cgroupDriver: string;
  storageDriver: string;
  runtimes: string[];
  defaultRuntime: string;
  /** How the user ids of containers differ from those of the engine's machine. */
  userNamespace: "none" | "remapped" | "rootless";
}

/** The part of `GET /info` that is used. Docker and Podman spell some names differently. */
interface EngineInfo {
  OperatingSystem: string;
  Driver: string;
  DriverStatus?: [string, string][] | null;
  CgroupVersion?: string;
  CgroupDriver: string;
  Runtimes?: Record<string, unknown> | null;
  DefaultRuntime: string;
  SecurityOptions?: string[] | null;
  MemoryLimit: boolean;
  SwapLimit: boolean;
  CpuCfsQuota?: boolean;
  CPUCfsQuota?: boolean;
  PidsLimit?: boolean;
}

export async function describeEngine({ docker, apiVersion }: Engine): Promise<EngineDescription> {
  const [info, version] = await Promise.all([readInfo(docker), docker.version()]);
  const components = (version as { Components?: { Name: string }[] }).Components ?? [];
  const security = (info.SecurityOptions ?? []).join(" ");
  return {
    name: components.some(({ Name }) => /podman/i.test(Name)) ? "podman" : "docker",
    version: version.Version,
    apiVersion,
    system: info.OperatingSystem,
    architecture: version.Arch,
    cgroupVersion: info.CgroupVersion === "2" ? 2 : 1,
    cgroupDriver: info.CgroupDriver,
    storageDriver: info.Driver,
    runtimes: Object.keys(info.Runtimes ?? {}).sort(),
    defaultRuntime: info.DefaultRuntime,
    userNamespace: /name=rootless/.test(security)
      ? "rootless"
      : /name=userns/.test(security)
        ? "remapped"
        : "none",
  };
}

async function readInfo(docker: Docker): Promise<EngineInfo> {
  return (await docker.info()) as EngineInfo;
}

/** Returns the name and version for messages: `Docker 20.10.24`. */
export function engineTitle({ name, version }: Pick<EngineDescription, "name" | "version">): string {
  return `${name === "podman" ? "Podman" : "Docker"} ${version}`;
}

export interface CapabilityOptions {
  /** Whose the objects are that probe disk limits. */
  owner: Owner;
  /** Any image that the engine has, for the container that probes disk limits. It is never started. */
  image: string;
  /** The runtime of the containers. Default: the engine's. */
  runtime?: string | undefined;
  /** Whether there is a seccomp profile for the processor of the engine. */
  hasSeccompProfile: boolean;
}

/** Describes what the engine enforces for containers. `ids` is whether root in a container is nobody outside. */
export async function describeCapabilities(
  engine: Engine,
  options: CapabilityOptions,
): Promise<{ capabilities: Capabilities; ids: Capability }> {
  const [description, info] = await Promise.all([describeEngine(engine), readInfo(engine.docker)]);
  const title = engineTitle(description);
  const runtime = options.runtime ?? description.defaultRuntime;
  const groups = `cgroup v${description.cgroupVersion}, ${title}`;
  const limit = (isSupported: boolean | undefined, what: string): Capability =>
    isSupported
      ? { enforced: true, by: groups }
      : {
          enforced: false,
          reason: `${title} cannot limit ${what}, because it cannot use that controller of control groups. Give the engine the controller.`,
        };
  const hasGroups = description.cgroupDriver !== "none";
  return {
    capabilities: {
      memory: limit(hasGroups && info.MemoryLimit, "memory"),
      cpus: limit(hasGroups && (info.CpuCfsQuota ?? info.CPUCfsQuota), "CPU time"),
      pids: gvisor.test(runtime)
        ? {
            enforced: false,
            reason: `The runtime ${runtime} cannot limit the number of processes. Limit the memory instead.`,
          }
        : limit(hasGroups && info.PidsLimit, "the number of processes"),
      disk: await probeDiskLimit(engine, { ...options, title }),
      network: { enforced: true, by: "a network namespace" },
      seccomp: describeSeccomp({ info, title, runtime, hasProfile: options.hasSeccompProfile }),
      // An engine would pause the container's first process too, which could then not end it at its deadline.
      freeze: { enforced: true, by: "the container's first process" },
    },
    ids: describeIds({ description, title, runtime }),
  };
}

const gvisor = /runsc|gvisor/i;
/** gVisor and Kata have a kernel of their own, to which the system calls of a container go. */
const kernelRuntimes = /runsc|gvisor|kata/i;

function describeSeccomp({
  info,
  title,
  runtime,
  hasProfile,
}: {
  info: EngineInfo;
  title: string;
  runtime: string;
  hasProfile: boolean;
}): Capability {
  if (kernelRuntimes.test(runtime)) return { enforced: true, by: `the kernel of ${runtime}` };
  if (!(info.SecurityOptions ?? []).some((option) => option.includes("seccomp")))
    return { enforced: false, reason: `${title} has no seccomp filters. Enable seccomp in its kernel.` };
  if (!hasProfile)
    return { enforced: false, reason: "There is no seccomp profile for the engine's processor." };
  return { enforced: true, by: "seccomp" };
}

function describeIds({
  description,
  title,
  runtime,
}: {
  description: EngineDescription;
  title: string;
  runtime: string;
}): Capability {
  if (description.userNamespace === "rootless") return { enforced: true, by: `rootless ${title}` };
  if (description.userNamespace === "remapped") return { enforced: true, by: `userns-remap of ${title}` };
  if (kernelRuntimes.test(runtime)) return { enforced: true, by: `the kernel of ${runtime}` };
  return {
    enforced: false,
    reason: `Root in a container is also root for the kernel of the engine's machine. Set userns-remap in the configuration of ${title}, or use a rootless engine.`,
  };
}

/**
 * The files of a sandbox are in volumes and in the container's own layer. Both must have the limit, and engines say only on
 * creation that their storage lacks it.
 */
async function probeDiskLimit(
  { docker }: Engine,
  { owner, title, image }: Pick<CapabilityOptions, "owner" | "image"> & { title: string },
): Promise<Capability> {
  const sandbox = `probe-${randomUUID()}`;
  const labels = probeLabels(owner, sandbox);
  try {
    const container = await docker.createContainer({
      ...{ Image: image, Cmd: ["true"], Labels: labels },
      HostConfig: { NetworkMode: "none", StorageOpt: { size: "16M" } },
    });
    await container.remove({ force: true });
    const volume = sandboxObjectName(owner, { sandbox, kind: "volume" });
    await docker.createVolume({
      ...{ Name: volume, Labels: labels, Driver: "local", DriverOpts: { size: "16M" } },
    });
    await docker.getVolume(volume).remove({ force: true });
    return { enforced: true, by: `storage quotas of ${title}` };
  } catch (error) {
    if (isEngineError(error, "unreachable", "timeout")) throw error;
    return {
      enforced: false,
      reason: `${title} cannot limit disk space with its storage: ${reasonOf(error)}. Store its data on XFS with project quotas (mount option pquota).`,
    };
  }
}

function reasonOf(error: unknown): string {
  const { cause } = error as EngineError;
  const response = (cause as { json?: { message?: string } } | undefined)?.json?.message;
  return printable(response ?? (error as Error).message, 200).replace(/\.$/, "");
}
