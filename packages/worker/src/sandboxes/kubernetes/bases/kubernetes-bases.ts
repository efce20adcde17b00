import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { Base } from "../../sandbox.ts";

const validName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/**
 * The saved bases of a worker: an archive for each, which is unpacked in every pod that starts from it. A base exists from the
 * moment at which its file has its name.
 */
export class KubernetesBases {
  readonly #folder: string;
  readonly #useCounts = new Map<string, number>();

  constructor(root: string) {
    this.#folder = join(root, ".kubernetes-bases");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // What an earlier worker did not complete.
    for (const name of readdirSync(this.#folder)) if (!validName.test(name)) rmSync(this.#path(name));
  }

  has(name: string): boolean {
    return validName.test(name) && existsSync(this.#path(name));
  }

  assertValidName(name: string): void {
    if (!validName.test(name)) throw new Error(`"${name}" is not a valid base name.`);
  }

  /** Protects the base from removal until it is released. */
  acquire(name: string): { path: string; release(): void } {
    const path = this.#existing(name);
    this.#useCounts.set(name, (this.#useCounts.get(name) ?? 0) + 1);
    const now = Date.now() / 1000;
    utimesSync(path, now, now);
    const release = () => {
      const users = (this.#useCounts.get(name) ?? 0) - 1;
      if (users > 0) this.#useCounts.set(name, users);
      else this.#useCounts.delete(name);
    };
    return { path, release };
  }

  /** Calls back with the path of a new file, which becomes the base when the callback has written it. */
  async add(name: string, write: (path: string) => Promise<void>): Promise<void> {
    const draft = this.#path(`.${name}`);
    try {
      await write(draft);
      renameSync(draft, this.#path(name));
    } finally {
      rmSync(draft, { force: true });
    }
  }

  /** Where a sandbox keeps an archive that its pod has yet to get. */
  draftPath(sandbox: string): string {
    return this.#path(`.of-${sandbox}`);
  }

  removeDraft(sandbox: string): void {
    rmSync(this.draftPath(sandbox), { force: true });
  }

  list(): Base[] {
    const names = readdirSync(this.#folder).filter((name) => validName.test(name));
    return names.map((name) => {
      const { size, mtimeMs } = statSync(this.#path(name));
      return { name, bytes: size, usedAt: mtimeMs };
    });
  }

  remove(name: string): void {
    const path = this.#existing(name);
    const users = this.#useCounts.get(name);
    if (users) throw new Error(`The base ${name} is in use by ${users} open sandboxes. Close them first.`);
    rmSync(path);
  }

  #existing(name: string): string {
    if (!this.has(name)) throw new Error(`Base ${JSON.stringify(name)} not found.`);
    return this.#path(name);
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}
