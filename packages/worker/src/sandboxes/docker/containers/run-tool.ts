import type Docker from "dockerode";
import type { ContainerCreateOptions } from "dockerode";
import { EngineError } from "../engine/errors.ts";
import { noCopy } from "../volumes/fill-volume.ts";
import { attach } from "./attach-stream.ts";

/**
 * Runs a program of the system image as root in a container of its own, and returns its output. The program sees volumes,
 * whose files are hostile, so it must not follow their links or execute them.
 */
export async function runTool(
  docker: Docker,
  {
    image,
    argv,
    volumes,
    labels,
    runtime,
  }: {
    image: string;
    argv: string[];
    /** By their path in the container. */
    volumes: Record<string, string>;
    labels: Record<string, string>;
    runtime: string | undefined;
  },
): Promise<string> {
  const [program = "", ...args] = argv;
  const container = await docker.createContainer({
    Image: image,
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
