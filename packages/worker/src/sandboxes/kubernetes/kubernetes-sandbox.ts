/**
 * One sandbox in a cluster: a pod with a container for commands and one for scripts, and volumes with the workspace and the
 * home.
 */
import { ProcessSandbox, type ProcessSandboxOptions } from "../process-sandbox.ts";
import type { Label, SandboxLostError } from "../sandbox.ts";
import { packFiles, unpackFiles } from "./bases/base-archive.ts";
import { saveBase } from "./bases/save-base.ts";
import type { PodSetup } from "./pod-setup.ts";
import type { SandboxPod } from "./pods/sandbox-pod.ts";
import type { SharedResources } from "./shared-resources.ts";

export interface KubernetesSandboxOptions
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
  hasImage: boolean;
  pod: SandboxPod;
  setup: PodSetup;
  shared: SharedResources;
}

const cannotFreeze = async () => {
  throw new Error("Pods cannot be paused.");
};

export class KubernetesSandbox extends ProcessSandbox {
  readonly label: Label;
  /** The name of its pod. */
  readonly pod: string;
  readonly #pod: SandboxPod;

  constructor(options: KubernetesSandboxOptions) {
    const { pod, shared } = options;
    super({
      ...options,
      log: shared.log,
      hasLayers: false,
      freezer: { freeze: cannotFreeze, thaw: cannotFreeze },
      packBase: (run, { signal }) => packFiles(run, signal),
      unpackBase: (run, { signal }) => unpackFiles(run, signal),
      saveBase: (name) => saveBase(name, options),
      removeFiles: () => pod.remove(),
    });
    this.label = options.label;
    this.pod = pod.name;
    this.#pod = pod;
  }

  async findLoss(): Promise<SandboxLostError | undefined> {
    return await this.#pod.findEnd("commands");
  }
}
