/**
 * One sandbox in a container engine: up to two containers, and volumes with the workspace and the home. Everything has
 * the labels of the sandbox, so that a later worker can find and remove it.
 *
 * Invariants:
 * - Containers and volumes are removed only after all processes have exited.
 * - What a base has taken over is not removed with the sandbox.
 */
import { filesScripts } from "../files/base-archive.ts";
import { ProcessSandbox, type ProcessSandboxOptions } from "../process-sandbox.ts";
import type { Label } from "../sandbox.ts";
import { saveBase } from "./bases/save-base.ts";
import type { SandboxContainers } from "./containers/sandbox-containers.ts";
import type { SandboxFiles } from "./sandbox-files.ts";
import type { SharedResources } from "./shared-resources.ts";
import type { SandboxVolumes } from "./volumes/sandbox-volumes.ts";

export interface DockerSandboxOptions
  extends Pick<
    ProcessSandboxOptions,
    | "id"
    | "base"
    | "workingFolder"
    | "enforced"
    | "system"
    | "createProcesses"
    | "releaseResources"
    | "onClosed"
  > {
  label: Label;
  labels: Record<string, string>;
  hasImage: boolean;
  containers: SandboxContainers;
  volumes: SandboxVolumes;
  files: SandboxFiles;
  shared: SharedResources;
}

export class DockerSandbox extends ProcessSandbox {
  readonly label: Label;

  constructor(options: DockerSandboxOptions) {
    const { containers, volumes, files, shared } = options;
    super({
      ...options,
      log: shared.log,
      hasLayers: files.hasLayers,
      freezer: { freeze: () => containers.pause(), thaw: () => containers.unpause() },
      packBase: (run, { signal }) => run(filesScripts.packScript, { stdin: false, signal }),
      unpackBase: (run, { signal }) => run(filesScripts.unpackScript, { stdin: true, signal }),
      saveBase: (name) => saveBase(name, options),
      async removeFiles() {
        await containers.remove();
        await volumes.remove();
      },
    });
    this.label = options.label;
  }
}
