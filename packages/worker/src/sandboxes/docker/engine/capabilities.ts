import type Docker from "dockerode";
import type { Capabilities, Capability } from "../../limits.ts";

interface EngineInfo {
  ServerVersion: string;
  MemoryLimit: boolean;
  CpuCfsQuota?: boolean;
  CPUCfsQuota?: boolean;
  PidsLimit: boolean;
  SecurityOptions?: string[];
}

/** Describes what the engine enforces for containers. */
export async function describeCapabilities(
  docker: Docker,
  { hasSeccomp }: { hasSeccomp: boolean },
): Promise<{ capabilities: Capabilities; ids: Capability }> {
  const info = (await docker.info()) as EngineInfo;
  const options = (info.SecurityOptions ?? []).join(" ");
  const group = (isEnforced: boolean, what: string): Capability =>
    isEnforced
      ? { enforced: true, by: "the container engine's control groups" }
      : {
          enforced: false,
          reason: `The container engine cannot limit ${what}: it needs this controller of control groups.`,
        };
  return {
    capabilities: {
      memory: group(info.MemoryLimit, "memory"),
      cpus: group(info.CpuCfsQuota ?? info.CPUCfsQuota ?? false, "CPU time"),
      pids: group(info.PidsLimit, "processes"),
      disk: {
        enforced: false,
        reason:
          "The container engine does not limit the size of volumes: use local sandboxes for disk limits.",
      },
      network: { enforced: true, by: "a network namespace" },
      seccomp:
        hasSeccomp && /seccomp/.test(options)
          ? { enforced: true, by: "seccomp" }
          : { enforced: false, reason: "The container engine has no seccomp filter for this machine." },
      freeze: { enforced: true, by: "the container engine" },
    },
    ids: /userns|rootless/.test(options)
      ? { enforced: true, by: "the user namespace of the container engine" }
      : {
          enforced: false,
          reason:
            "Root in containers has the user id of root: set userns-remap in the configuration of Docker.",
        },
  };
}
