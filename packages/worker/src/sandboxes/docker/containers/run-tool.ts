import type { ContainerCreateOptions } from "dockerode";
import { resolveLimits } from "../../limits.ts";
import { EngineError } from "../engine/errors.ts";
import type { SharedResources } from "../shared-resources.ts";
import { noCopy } from "../volumes/fill-volume.ts";
import { attach } from "./attach-stream.ts";
import { describeLimits } from "./container-spec.ts";
import { scriptLimits } from "./script-limits.ts";

export type ToolResources = Pick<
  SharedResources,
  "docker" | "systemImage" | "runtime" | "capabilities" | "defaultLimits"
>;

/**
 * Runs a program of the system image as root in a container of its own, and returns its output. The program sees volumes,
 * whose files are hostile, so it must not follow their links or execute them. How much memory it needs depends on the files
 * too, so it has limits.
 */
export async function runTool(
  { docker, systemImage, runtime, capabilities, defaultLimits }: ToolResources,
  {
    argv,
    volumes,
    labels,
  }: {
    argv: string[];
    /** By their path in the container. */
    volumes: Record<string, string>;
    labels: Record<string, string>;
  },
): Promise<string> {
  const [program = "", ...args] = argv;
  const { memory_mb, pids } = scriptLimits(resolveLimits({}, capabilities, defaultLimits));
  const container = await docker.createContainer({
    Image: systemImage,
    Labels: labels,
    User: "0:0",
    WorkingDir: "/",
    Entrypoint: [program],
    Cmd: args,
    Env: ["LC_ALL=C"],
    OpenStdin: true,
    StdinOnce: true,
    HostConfig: {
      NetworkMode: "none",
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "none", Config: {} },
      ...describeLimits({ memory_mb, pids }),
      Mounts: Object.entries(volumes).map(([Target, Source]) => {
        return { Type: "volume", Source, Target, VolumeOptions: noCopy };
      }),
    },
  } satisfies ContainerCreateOptions);
  try {
    // The container writes frames only as its output is read, so it is read before the exit.
    const stream = await attach(container);
    await container.start();
    let output = "";
    for await (const chunk of stream) output = (output + chunk).slice(0, 64 * 1024);
    const { StatusCode } = await container.wait();
    if (StatusCode === 0) return output;
    throw new EngineError(
      "failed",
      `${program} failed in the container engine: ${stream.stderr.slice(0, 500) || `exit code ${StatusCode}`}.`,
    );
  } finally {
    await container.remove({ force: true, v: true }).catch(() => {}); // reap removes it later
  }
}
