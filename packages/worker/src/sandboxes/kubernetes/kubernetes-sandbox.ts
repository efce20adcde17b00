/**
 * One sandbox in a cluster: a pod with a container for commands and one for scripts, and volumes with the workspace and the
 * home.
 */
import type { Readable } from "node:stream";
import { ProcessSandbox, type ProcessSandboxOptions, type SpawnScript } from "../process-sandbox.ts";
import type { Label, SandboxLostError, Spawned } from "../sandbox.ts";
import { baseScripts } from "./bases/base-archive.ts";
import { packImageBase } from "./bases/image-base.ts";
import { receiveBase } from "./bases/receive-base.ts";
import { saveBase } from "./bases/save-base.ts";
import { streamSystemChanges } from "./bases/stream-system-changes.ts";
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
    | "onCloseFailed"
  > {
  label: Label;
  hasImage: boolean;
  /** The home that is a volume. */
  home: string | undefined;
  pod: SandboxPod;
  setup: PodSetup;
  shared: SharedResources;
}

const cannotFreeze = async () => {
  throw new Error("Pods cannot be paused.");
};

export class KubernetesSandbox extends ProcessSandbox {
  readonly label: Label;
  readonly #pod: SandboxPod;

  constructor(options: KubernetesSandboxOptions) {
    const { pod, shared } = options;
    super({
      ...options,
      log: shared.log,
      hasLayers: false,
      freezer: { freeze: cannotFreeze, thaw: cannotFreeze },
      readSystemChanges: options.hasImage
        ? (run, { signal }) => readSystemChanges(options, run, signal)
        : undefined,
      packBase: (run, { signal }) => packBase(options, run, signal),
      unpackBase: async () => unpackBase(options),
      saveBase: (name) => saveBase(name, options),
      async removeFiles() {
        shared.bases.removeDraft(options.id);
        await pod.remove();
      },
    });
    this.label = options.label;
    this.#pod = pod;
  }

  /** The name of its pod. */
  get pod(): string {
    return this.#pod.name;
  }

  async findLoss(): Promise<SandboxLostError | undefined> {
    return await this.#pod.findEnd("commands");
  }
}

async function packBase(
  { setup, home, hasImage }: KubernetesSandboxOptions,
  run: SpawnScript,
  signal: AbortSignal,
): Promise<Spawned> {
  if (!hasImage) return await run(baseScripts.packScript, { stdin: false, signal });
  const runInImage = (argv: string[]) => run(argv, { stdin: false, signal, kind: "commands" });
  const { packing, archive } = await packImageBase(runInImage, {
    ...{ home, argv: () => setup.describePacking() },
  });
  return { ...packing, stdout: archive };
}

/** The pod gets the files with its first command. A sandbox that is only saved again needs no pod. */
function unpackBase({ id, setup, shared }: KubernetesSandboxOptions): Spawned {
  const path = shared.bases.draftPath(id);
  return receiveBase(path, () => setup.setBase(path));
}

async function readSystemChanges(
  { setup }: KubernetesSandboxOptions,
  run: SpawnScript,
  signal: AbortSignal,
): Promise<Readable> {
  return await streamSystemChanges(
    (argv) => run(argv, { stdin: false, signal, kind: "commands" }),
    () => setup.describeSystemPacking(),
  );
}
