/**
 * One sandbox in a container engine: up to two containers, and volumes with the workspace and the home. Everything has
 * the labels of the sandbox, so that a later worker can find and remove it.
 *
 * Invariants:
 * - Containers and volumes are removed only after all processes have exited.
 * - What a base has taken over is not removed with the sandbox.
 */
import type { Readable } from "node:stream";
import { filesScripts } from "../files/base-archive.ts";
import { sandboxPaths } from "../paths.ts";
import { ProcessSandbox, type SpawnScript } from "../process-sandbox.ts";
import type { Label, Spawned } from "../sandbox.ts";
import { packImageBase, unpackImageBase } from "./bases/image-archive.ts";
import { saveBase } from "./bases/save-base.ts";
import { streamSystemLayer } from "./bases/stream-system-layer.ts";
import type { DockerSandboxOptions } from "./docker-sandbox-options.ts";
import { removeImage } from "./images/remove-image.ts";
import type { SandboxFiles } from "./sandbox-files.ts";

export class DockerSandbox extends ProcessSandbox {
  readonly label: Label;

  constructor(options: DockerSandboxOptions) {
    const { containers, volumes, files, shared } = options;
    super({
      ...options,
      log: shared.log,
      hasLayers: files.hasLayers,
      readSystemChanges: options.image ? () => readSystemChanges(options) : undefined,
      packBase: (run, { signal }) => packBase(options, run, signal),
      unpackBase: (run, { signal }) => unpackBase(options, run, signal),
      saveBase: (name) => saveBase(name, options),
      async removeFiles() {
        await containers.remove();
        await volumes.remove();
        if (containers.ownImage !== undefined) await removeImage(shared.docker, containers.ownImage);
      },
    });
    this.label = options.label;
  }
}

async function readSystemChanges({ shared, labels, containers }: DockerSandboxOptions): Promise<Readable> {
  const container = await containers.get("commands");
  return await streamSystemLayer({ docker: shared.docker, labels, container });
}

async function packBase(
  { shared, labels, containers, files, image }: DockerSandboxOptions,
  run: SpawnScript,
  signal: AbortSignal,
): Promise<Spawned> {
  if (!image) return await run(filesScripts.packScript, { stdin: false, signal });
  const options = { docker: shared.docker, labels, run, signal };
  const home = Object.keys(files.merged).find((path) => path !== sandboxPaths.workspace);
  const below = image.layers[0] as string;
  return await packImageBase(options, { container: await containers.get("commands"), below, home });
}

async function unpackBase(
  { shared, labels, containers, files, image }: DockerSandboxOptions,
  run: SpawnScript,
  signal: AbortSignal,
): Promise<Spawned> {
  if (!image) return await run(filesScripts.unpackScript, { stdin: true, signal });
  const options = { docker: shared.docker, labels, run, signal };
  return await unpackImageBase(options, {
    image: containers.image,
    setSystem(image, home) {
      if (home !== undefined) moveHome(files, home);
      containers.setImage(image, files.commandMounts);
    },
  });
}

/** A build's home is that of its user, and the sandbox into which it is unpacked may have been opened for another one. */
function moveHome(files: SandboxFiles, home: string): void {
  const isHome = (path: string) => path !== sandboxPaths.workspace;
  files.merged = Object.fromEntries(
    Object.entries(files.merged).map(([path, volume]) => [isHome(path) ? home : path, volume]),
  );
  files.commandMounts = files.commandMounts.map((mount) =>
    isHome(mount.target) ? { ...mount, target: home } : mount,
  );
}
