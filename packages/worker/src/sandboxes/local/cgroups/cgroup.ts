import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The kernel needs only milliseconds, but this process may get little CPU time on a busy machine. */
const timeoutMs = 30_000;

/** A control group's folder in one hierarchy, and the controllers that work in it. */
export interface CgroupFolder {
  folder: string;
  version: 1 | 2;
  controllers: string[];
}

/** One sandbox's control group. It may consist of folders in several hierarchies. */
export class Cgroup {
  /** A process that writes 0 to each of these files joins the group, together with its later children. */
  readonly procsFiles: string[];
  readonly #folders: CgroupFolder[];
  /** The v2 folder can freeze and kill even if all limits come from v1. */
  readonly #v2Folder: string | undefined;

  constructor(folders: CgroupFolder[]) {
    this.#folders = folders;
    this.#v2Folder = folders.find(({ version }) => version === 2)?.folder;
    this.procsFiles = folders.map(({ folder }) => join(folder, "cgroup.procs"));
  }

  /** Resolves when every process in the group is paused. */
  freeze(): Promise<void> {
    return this.#setFrozen(true);
  }

  thaw(): Promise<void> {
    return this.#setFrozen(false);
  }

  /**
   * Kills every process in the group, even if processes keep forking. Resolves when none is left, and at once if the
   * group does not exist.
   */
  async kill(): Promise<void> {
    if (this.#pids().length === 0) return;
    const killFile = this.#v2Folder && join(this.#v2Folder, "cgroup.kill");
    if (killFile && existsSync(killFile)) writeFileSync(killFile, "1");
    else await this.#killOneByOne();
    await waitUntil(() => this.#pids().length === 0, "its processes were not killed");
  }

  /** Returns how often each limit has taken effect since the group was created. */
  limitEvents(): { oom_kills: number; forks_refused: number } {
    const [memory, pids] = [this.#folderWithController("memory"), this.#folderWithController("pids")];
    return {
      oom_kills: memory
        ? readCount(join(memory, "memory.events"), "oom_kill") +
          readCount(join(memory, "memory.oom_control"), "oom_kill")
        : 0,
      forks_refused: pids ? readCount(join(pids, "pids.events"), "max") : 0,
    };
  }

  /** Removes a group that has no processes. Retries for a moment, because the kernel reports exits late. */
  async remove(): Promise<void> {
    for (const { folder } of this.#folders) {
      await waitUntil(async () => {
        try {
          await rmdir(folder);
          return true;
        } catch (error) {
          const { code } = error as NodeJS.ErrnoException;
          if (code === "ENOENT") return true;
          if (code === "EBUSY") return false;
          throw error;
        }
      }, `${folder} is still in use`);
    }
  }

  async #setFrozen(frozen: boolean): Promise<void> {
    const freezer = this.#folderWithController("freezer");
    if (this.#v2Folder) {
      writeFileSync(join(this.#v2Folder, "cgroup.freeze"), frozen ? "1" : "0");
      const events = join(this.#v2Folder, "cgroup.events");
      await waitUntil(() => readCount(events, "frozen") === Number(frozen), "its processes did not freeze");
    } else if (freezer) {
      const state = frozen ? "FROZEN" : "THAWED";
      const file = join(freezer, "freezer.state");
      writeFileSync(file, state);
      await waitUntil(() => readFileSync(file, "utf8").trim() === state, "its processes did not freeze");
    } else {
      throw new Error("This system cannot freeze the processes of a sandbox.");
    }
  }

  /**
   * Used on kernels without cgroup.kill. Processes are frozen first, so that they cannot fork while they are killed one
   * by one.
   */
  async #killOneByOne(): Promise<void> {
    const canFreeze = this.#v2Folder || this.#folderWithController("freezer");
    await waitUntil(async () => {
      if (canFreeze) await this.freeze();
      for (const pid of this.#pids()) killIfExists(pid);
      if (canFreeze) await this.thaw();
      return this.#pids().length === 0;
    }, "its processes were not killed");
  }

  #folderWithController(controller: string): string | undefined {
    return this.#folders.find(({ controllers }) => controllers.includes(controller))?.folder;
  }

  #pids(): number[] {
    const pids = this.procsFiles.flatMap((file) =>
      readIfExists(file).split("\n").filter(Boolean).map(Number),
    );
    return [...new Set(pids)];
  }
}

async function waitUntil(condition: () => boolean | Promise<boolean>, problem: string): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (let wait = 1; !(await condition()); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > end)
      throw new Error(`A sandbox's control group did not respond within ${timeoutMs / 1000} s: ${problem}.`);
    await delay(wait);
  }
}

function killIfExists(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Reads a number from a file whose lines have the form "name number". */
function readCount(file: string, name: string): number {
  const line = readIfExists(file)
    .split("\n")
    .find((text) => text.startsWith(`${name} `));
  return Number(line?.split(" ")[1] ?? 0);
}

function readIfExists(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return ""; // the group was removed
    throw error;
  }
}
