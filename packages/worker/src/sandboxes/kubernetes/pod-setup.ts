/**
 * What the containers of a pod need before the first command: bundles, the files of a base, and small files of the system. A
 * pod starts with empty folders, so the worker sends everything through its connections.
 */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { commandFiles, scriptFiles, volumeFolders } from "../files/container-files.ts";
import { createArchive } from "../files/file-archive.ts";
import { listFolder, packEntries } from "../files/pack-files.ts";
import { sandboxCopyPath, systemChangesPath } from "../files/programs.ts";
import { layerPaths } from "../files/script-paths.ts";
import { firstBytes } from "../first-bytes.ts";
import type { InitConnection } from "../init/init-connection.ts";
import { sandboxPaths } from "../paths.ts";
import type { OpenOptions } from "../sandbox.ts";
import type { ProcessKind } from "../systems/command-system.ts";
import type { ContainerFolders } from "../systems/container-systems.ts";
import { baseScripts } from "./bases/base-archive.ts";
import { readImageBase } from "./bases/image-base.ts";
import { folderListsPath } from "./build-images/build-layer.ts";
import { ClusterError } from "./cluster/errors.ts";
import type { ConnectOptions, PodConnection, SandboxPod } from "./pods/sandbox-pod.ts";

export interface PodSetupOptions {
  pod: SandboxPod;
  options: OpenOptions;
  /** The path of the archive of the base. Pods with the image of the build do not need it. */
  base: string | undefined;
  /** The home that is a volume. */
  home: string | undefined;
  /** What the home starts with, if the node does not fill it. */
  homeArchive?: Buffer | undefined;
}

const { workspace, home } = sandboxPaths;
/** Without layers, every file of a folder counts as changed, and only the names in the base tell what was deleted. */
const foldersOverBase: ContainerFolders = {
  workspace: { merged: workspace, upper: workspace, lower: `${layerPaths.lower}${workspace}` },
  home: { merged: home, upper: home, lower: `${layerPaths.lower}${home}` },
};

export class PodSetup {
  readonly folders: ContainerFolders = foldersOverBase;
  readonly #options: PodSetupOptions;
  readonly #isSetUp = new Set<ProcessKind>();
  /** The containers that have started again since they were set up, and whether they had run out of memory. */
  readonly #restarts = new Map<ProcessKind, { isOutOfMemory: boolean }>();
  #base: string | undefined;
  /** When the container with the image had its own files only, in the words of native/system-changes. */
  #mark: string[] | undefined;
  #volumes: Promise<void> | undefined;
  #folders: Promise<unknown> | undefined;

  constructor(options: PodSetupOptions) {
    this.#options = options;
    this.#base = options.base;
  }

  /** The path of the archive with which the pod starts, if it has not got it yet. */
  get unusedBase(): string | undefined {
    return this.#volumes ? undefined : this.#base;
  }

  /** Replaces the archive with which the pod starts. */
  setBase(path: string): void {
    this.#base = path;
  }

  /** Returns the command that packs what has changed since the container with the image started. */
  describePacking(): string[] {
    const { home } = this.#options;
    return [...this.describeSystemPacking(), workspace, ...(home === undefined ? [] : [home])];
  }

  /** The same without the volumes. */
  describeSystemPacking(): string[] {
    if (!this.#mark) throw new Error("The container with the image is not set up.");
    return [systemChangesPath, "pack", ...this.#mark];
  }

  /** Fills the volumes, before the first connection of commands or scripts. The next call repeats what has failed. */
  async fillVolumes(options: ConnectOptions): Promise<void> {
    this.#volumes ??= this.#fillVolumes(options);
    try {
      await this.#volumes;
    } catch (error) {
      this.#volumes = undefined;
      throw error;
    }
  }

  async #fillVolumes(connectOptions: ConnectOptions): Promise<void> {
    const { pod, options } = this.#options;
    const { bundles = [], image } = options;
    const base = image ? undefined : this.#base;
    if (bundles.length === 0 && base === undefined) return;
    await this.#withScripts(connectOptions, async (connection) => {
      for (const { folder, target } of bundles) {
        const archive = Readable.from(packEntries(listFolder(folder)), { objectMode: false });
        await feed(connection, [sandboxCopyPath, "unpack", `${target}/`, "-", "-"], archive);
      }
      if (base === undefined) return;
      if (pod.hasBuildImage) await feed(connection, bash(baseScripts.recordScript), Readable.from([]));
      else await feed(connection, bash(baseScripts.unpackScript), createReadStream(base));
    });
  }

  /** Uses a connection for scripts, before the first command. */
  async #withScripts(
    options: ConnectOptions,
    use: (connection: InitConnection) => Promise<void>,
  ): Promise<void> {
    const found = await this.#options.pod.connect("scripts", options);
    if (!found) throw new Error("The sandbox was killed.");
    const { connection } = found;
    try {
      await use(connection);
    } finally {
      await connection.endCommands(20_000);
    }
  }

  /** Called when a connection that sets nothing up was the first one of a container. */
  noteRestart(kind: ProcessKind, restart: { isOutOfMemory: boolean }): void {
    this.#restarts.set(kind, restart);
  }

  /** Called for each connection, with the number of earlier ones since the container started. */
  async setUp(
    kind: ProcessKind,
    { connection, configurations }: PodConnection,
    connectOptions: ConnectOptions,
  ): Promise<void> {
    const { options } = this.#options;
    if (this.#isSetUp.has(kind)) {
      if (configurations > 0 && !this.#restarts.has(kind)) return;
      if (kind === "commands" && options.image) throw lostSystem(this.#restarts.get(kind));
    }
    const files = kind === "commands" ? commandFiles(options, { hasFolders: true }) : scriptFiles(options);
    await Promise.all([
      feed(connection, [sandboxCopyPath, "unpack", "/", "-", "-"], Readable.from([files])),
      kind === "commands" ? this.#fillHome(connection) : undefined,
    ]);
    if (options.image && kind === "commands") await this.#setUpImage(connection, connectOptions);
    else if (!options.image && this.#base === undefined) await this.#takeFolders(connection);
    this.#isSetUp.add(kind);
    this.#restarts.delete(kind);
  }

  async #fillHome(connection: InitConnection): Promise<void> {
    const { home, homeArchive, pod } = this.#options;
    if (home === undefined || homeArchive === undefined || pod.hasBuildImage) return;
    await feed(connection, [systemChangesPath, "unpack-folder", home], Readable.from([homeArchive]));
  }

  /** The base counts as a change to the image. */
  async #setUpImage(connection: InitConnection, connectOptions: ConnectOptions): Promise<void> {
    const { hasBuildImage } = this.#options.pod;
    if (!this.#mark) {
      const output = await feed(connection, [systemChangesPath, "mark"], Readable.from([]));
      const [time = "", offset = ""] = output.toString().trim().split(" ");
      // The image of the build does not show which files are from that of the environment. All of them are packed then.
      this.#mark = [hasBuildImage ? "0" : time, offset];
    }
    if (this.#base === undefined) return;
    if (hasBuildImage)
      await feed(connection, [systemChangesPath, "unpack", folderListsPath], Readable.from([]));
    else await feed(connection, [systemChangesPath, "unpack"], (await readImageBase(this.#base)).changes());
    const record = async (scripts: InitConnection) => {
      await feed(scripts, bash(baseScripts.recordScript), Readable.from([]));
    };
    await this.#withScripts(connectOptions, record);
  }

  /** Gives the folders to the user of commands, through the first connection of any kind. The user may change them later. */
  async #takeFolders(connection: InitConnection): Promise<void> {
    const archive = Readable.from([createArchive(volumeFolders())]);
    this.#folders ??= feed(connection, [sandboxCopyPath, "unpack", "/", "-", "-"], archive);
    try {
      await this.#folders;
    } catch (error) {
      this.#folders = undefined;
      throw error;
    }
  }
}

const bash = (script: string) => ["/bin/bash", "-c", script];

/** Runs a program as root, with an archive as its stdin. Returns the beginning of its output. */
async function feed(connection: InitConnection, argv: string[], archive: Readable): Promise<Buffer> {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
  const command = connection.start({ argv, env, folders: ["/"], stdin: true });
  const [stderr, { exitCode }, sendError, output] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    pipeline(archive, command.stdin).then(
      () => undefined,
      (error: Error) => error,
    ),
    firstBytes(command.stdout, 100),
    command.started,
  ]);
  if (exitCode === 0) return output;
  // If the worker killed the sandbox, nobody reads this error.
  if (exitCode === null)
    throw new ClusterError(
      "unreachable",
      "The connection to the pod of the sandbox was lost while its files were prepared. Start the run again.",
    );
  const reason = stderr.toString().trim() || `exit code ${exitCode}`;
  throw new Error(`The files of the sandbox cannot be prepared: ${reason}.`, { cause: sendError });
}

/** The changes to an image's system end with the container. */
function lostSystem({ isOutOfMemory } = { isOutOfMemory: false }): ClusterError {
  return isOutOfMemory
    ? new ClusterError(
        "out_of_memory",
        "The sandbox ran out of memory, and the kernel killed all of its processes. The changes to its system are lost. Raise `resources.memory_mb`, or use less memory.",
      )
    : new ClusterError(
        "pod_ended",
        "The container of the sandbox has started again, without the changes to its system, because it ended or its node restarted. Start the run again.",
      );
}
