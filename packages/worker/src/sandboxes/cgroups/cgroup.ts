import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Long for the kernel, which needs milliseconds; short for whoever waits for a sandbox's end. */
const patienceMs = 5000;

/** The group's folder in one hierarchy, and the controllers that work in it. */
export interface Part {
  folder: string;
  version: 1 | 2;
  controllers: string[];
}

/** The processes of one sandbox, as the kernel counts, bounds and stops them. */
export class Cgroup {
  /** Whoever writes 0 to each of these files is in the group, with all its later children. */
  readonly procs: string[];
  readonly #parts: Part[];
  /** v2 can stop and kill even where all limits come from v1. */
  readonly #v2: string | undefined;

  constructor(parts: Part[]) {
    this.#parts = parts;
    this.#v2 = parts.find(({ version }) => version === 2)?.folder;
    this.procs = parts.map(({ folder }) => join(folder, "cgroup.procs"));
  }

  /** Resolves when nothing in the group runs any more. */
  freeze(): Promise<void> {
    return this.#setFrozen(true);
  }

  thaw(): Promise<void> {
    return this.#setFrozen(false);
  }

  /** Resolves when no process is left, however fast they fork; at once for a group that is gone. */
  async kill(): Promise<void> {
    if (this.#pids().length === 0) return;
    const killFile = this.#v2 && join(this.#v2, "cgroup.kill");
    if (killFile && existsSync(killFile)) writeFileSync(killFile, "1");
    else await this.#killEach();
    await until(() => this.#pids().length === 0, "its processes do not die");
  }

  /** What a limit has done to the group since it was made. */
  happened(): { oom_kills: number; forks_refused: number } {
    const [memory, pids] = [this.#folderWith("memory"), this.#folderWith("pids")];
    return {
      oom_kills: memory
        ? readCount(join(memory, "memory.events"), "oom_kill") +
          readCount(join(memory, "memory.oom_control"), "oom_kill")
        : 0,
      forks_refused: pids ? readCount(join(pids, "pids.events"), "max") : 0,
    };
  }

  /** Only for a group in which nothing runs. The kernel may need a moment to notice. */
  async remove(): Promise<void> {
    for (const { folder } of this.#parts) {
      await until(async () => {
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
    const freezer = this.#folderWith("freezer");
    if (this.#v2) {
      writeFileSync(join(this.#v2, "cgroup.freeze"), frozen ? "1" : "0");
      const events = join(this.#v2, "cgroup.events");
      await until(() => readCount(events, "frozen") === Number(frozen), "its processes do not stop");
    } else if (freezer) {
      const state = frozen ? "FROZEN" : "THAWED";
      const file = join(freezer, "freezer.state");
      writeFileSync(file, state);
      await until(() => readFileSync(file, "utf8").trim() === state, "its processes do not stop");
    } else {
      throw new Error("This system cannot stop a sandbox's processes and let them go on.");
    }
  }

  /** Without cgroup.kill. Stopped, they cannot fork while we kill one after the other. */
  async #killEach(): Promise<void> {
    const canFreeze = this.#v2 || this.#folderWith("freezer");
    await until(async () => {
      if (canFreeze) await this.freeze();
      for (const pid of this.#pids()) killIfThere(pid);
      if (canFreeze) await this.thaw();
      return this.#pids().length === 0;
    }, "its processes do not die");
  }

  #folderWith(controller: string): string | undefined {
    return this.#parts.find(({ controllers }) => controllers.includes(controller))?.folder;
  }

  #pids(): number[] {
    const inAny = this.procs.flatMap((file) => readIfThere(file).split("\n").filter(Boolean).map(Number));
    return [...new Set(inAny)];
  }
}

async function until(condition: () => boolean | Promise<boolean>, complaint: string): Promise<void> {
  const end = performance.now() + patienceMs;
  for (let wait = 1; !(await condition()); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > end) throw new Error(`A sandbox's group does not obey: ${complaint}.`);
    await delay(wait);
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A number from a file of lines "name number". */
function readCount(file: string, name: string): number {
  const line = readIfThere(file)
    .split("\n")
    .find((text) => text.startsWith(`${name} `));
  return Number(line?.split(" ")[1] ?? 0);
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENODEV") return ""; // the group is gone
    throw error;
  }
}
