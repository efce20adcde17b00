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
import { sandboxCopyPath } from "../files/programs.ts";
import { layerPaths } from "../files/script-paths.ts";
import { firstBytes } from "../first-bytes.ts";
import type { InitConnection } from "../init/init-connection.ts";
import { sandboxPaths } from "../paths.ts";
import type { OpenOptions } from "../sandbox.ts";
import type { ProcessKind } from "../systems/command-system.ts";
import type { ContainerFolders } from "../systems/container-systems.ts";
import { baseScripts } from "./bases/base-archive.ts";
import { ClusterError } from "./cluster/errors.ts";
import type { ConnectOptions, SandboxPod } from "./pods/sandbox-pod.ts";

export interface PodSetupOptions {
  pod: SandboxPod;
  options: OpenOptions;
  /** The path of the archive of the base. */
  base: string | undefined;
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
  /** The containers that have started again since they were set up. */
  readonly #hasRestarted = new Set<ProcessKind>();
  #volumes: Promise<void> | undefined;
  #folders: Promise<void> | undefined;

  constructor(options: PodSetupOptions) {
    this.#options = options;
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
    const { pod, options, base } = this.#options;
    const { bundles = [] } = options;
    if (bundles.length === 0 && base === undefined) return;
    const found = await pod.connect("scripts", connectOptions);
    if (!found) throw new Error("The sandbox was killed.");
    const { connection } = found;
    try {
      for (const { folder, target } of bundles) {
        const archive = Readable.from(packEntries(listFolder(folder)), { objectMode: false });
        await feed(connection, [sandboxCopyPath, "unpack", `${target}/`, "-", "-"], archive);
      }
      if (base !== undefined)
        await feed(connection, ["/bin/bash", "-c", baseScripts.unpackScript], createReadStream(base));
    } finally {
      await connection.endCommands(20_000);
    }
  }

  /** Called when a connection that sets nothing up was the first one of a container. */
  noteRestart(kind: ProcessKind): void {
    this.#hasRestarted.add(kind);
  }

  /** Called for each connection, with the number of earlier ones since the container started. */
  async setUp(kind: ProcessKind, connection: InitConnection, configurations: number): Promise<void> {
    const { options, base } = this.#options;
    if (this.#isSetUp.has(kind)) {
      if (configurations > 0 && !this.#hasRestarted.has(kind)) return;
      if (kind === "commands" && options.image)
        throw new ClusterError(
          "pod_ended",
          "The container of the sandbox has started again, without the changes to its system, because it ran out of memory or its node restarted. Start the run again.",
        );
    }
    const files = kind === "commands" ? commandFiles(options, { hasFolders: true }) : scriptFiles(options);
    await feed(connection, [sandboxCopyPath, "unpack", "/", "-", "-"], Readable.from([files]));
    if (!options.image && base === undefined) await this.#takeFolders(connection);
    this.#isSetUp.add(kind);
    this.#hasRestarted.delete(kind);
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

/** Runs a program as root, with an archive as its stdin. */
async function feed(connection: InitConnection, argv: string[], archive: Readable): Promise<void> {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
  const command = connection.start({ argv, env, folders: ["/"], stdin: true });
  const [stderr, { exitCode }, sendError] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    pipeline(archive, command.stdin).then(
      () => undefined,
      (error: Error) => error,
    ),
    firstBytes(command.stdout, 0),
    command.started,
  ]);
  if (exitCode === 0) return;
  const reason =
    exitCode === null ? "the sandbox was killed" : stderr.toString().trim() || `exit code ${exitCode}`;
  throw new Error(`The files of the sandbox cannot be prepared: ${reason}.`, { cause: sendError });
}
