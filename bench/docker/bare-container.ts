import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";

/** Creates a container that waits, without limits and without anything of ours. */
export async function createBareContainer(docker: Docker, image: string): Promise<Docker.Container> {
  return await docker.createContainer({
    ...{ Image: image, Entrypoint: ["sleep"], Cmd: ["1000000"] },
    HostConfig: { NetworkMode: "none" },
  });
}

/** Runs a command as programs do that need its output and its exit code. Returns its output. */
export async function execBare(container: Docker.Container, command: string): Promise<string> {
  const exec = await container.exec({
    ...{ Cmd: ["/bin/sh", "-c", command], AttachStdout: true, AttachStderr: true },
  });
  const stream = await exec.start({});
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  container.modem.demuxStream(stream, stdout, stderr);
  stream.once("end", () => stdout.end());
  const output = await text(stdout);
  const { ExitCode: exitCode } = await exec.inspect();
  if (exitCode !== 0) throw new Error(`${command}: exit code ${exitCode}`);
  return output;
}
