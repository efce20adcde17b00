import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";

const list =
  'for p in /proc/[0-9]*; do [ "$p" = "/proc/$$" ] || tr "\\0" " " < "$p/cmdline" && echo; done 2> /dev/null';

/** Returns the command lines in a worker's containers. Those of gVisor are not processes of the engine's machine. */
export async function processesInside(host: string, worker: string): Promise<string[]> {
  const { docker } = await openEngine({ host });
  const filters = JSON.stringify({ ...labelFilters({ [labelNames.worker]: worker }), status: ["running"] });
  const containers = await docker.listContainers({ filters });
  const lists = await Promise.all(containers.map(({ Id }) => listIn(docker, docker.getContainer(Id))));
  return lists.flat();
}

async function listIn(docker: Docker, container: Docker.Container): Promise<string[]> {
  try {
    const exec = await container.exec({
      Cmd: ["bash", "-c", list],
      User: "0",
      AttachStdout: true,
      AttachStderr: true,
    });
    const stream = await exec.start({ hijack: true });
    const [output, errors] = [new PassThrough(), new PassThrough()];
    docker.modem.demuxStream(stream, output, errors);
    errors.resume();
    stream.once("end", () => output.end()).once("close", () => output.end());
    return (await text(output)).split("\n").filter((line) => line !== "");
  } catch (error) {
    if ((await container.inspect()).State.Running) throw error;
    return [];
  }
}
