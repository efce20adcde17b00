import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { removeFolder } from "./folders.ts";
import type { Identity } from "./identity.ts";
import type { Base } from "./sandbox.ts";

const run = promisify(execFile);
const options = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };
const folderName = ".bases";
const validName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/**
 * Bases are folders with a `workspace` and a `home`, on which sandboxes begin. Nothing changes one after it got its
 * name: sandboxes have it as the lower layer of an overlay, never itself.
 */
export class Bases {
  readonly #folder: string;
  readonly #users = new Map<string, number>();
  readonly #drafts = new Set<string>();

  constructor(root: string, identity: Identity | undefined) {
    this.#folder = join(root, folderName);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // Nobody on the host but the sandboxes' user may pass.
    if (identity) chownSync(this.#folder, 0, identity.gid);
    chmodSync(this.#folder, 0o710);
  }

  /** The base's folder, relative to the root, kept from removal until it is released. */
  take(name: string): { path: string; release(): void } {
    this.#mustExist(name);
    this.#users.set(name, (this.#users.get(name) ?? 0) + 1);
    const now = Date.now() / 1000;
    utimesSync(this.#facts(name), now, now);
    const release = () => {
      const users = (this.#users.get(name) ?? 0) - 1;
      if (users > 0) this.#users.set(name, users);
      else this.#users.delete(name);
    };
    return { path: join(folderName, name), release };
  }

  /** `fill` puts `workspace` and `home` into a folder, which becomes the base when all of it is on the disk. */
  async keep(name: string, fill: (folder: string) => Promise<void>): Promise<void> {
    if (!validName.test(name)) throw new Error(`"${name}" is no name for a base.`);
    if (existsSync(join(this.#folder, name))) return;
    const draft = `.new-${randomUUID()}`;
    const folder = join(this.#folder, draft);
    this.#drafts.add(draft);
    try {
      mkdirSync(folder, { mode: 0o711 });
      await fill(folder);
      // A folder that its owner closed to itself is not counted, and is no reason to have no base.
      const counting = run("du", ["-sB1", "--", folder], options);
      const { stdout } = await counting.catch((error: { stdout?: string }) => ({
        stdout: error.stdout || "0",
      }));
      writeFileSync(join(folder, "base.json"), JSON.stringify({ bytes: Number.parseInt(stdout, 10) }));
      await run("sync", ["-f", "--", folder], options);
      if (!existsSync(join(this.#folder, name))) renameSync(folder, join(this.#folder, name));
      else await removeFolder(folder);
    } catch (error) {
      await removeFolder(folder).catch(() => {});
      throw error;
    } finally {
      this.#drafts.delete(draft);
    }
  }

  list(): Base[] {
    const names = readdirSync(this.#folder).filter((name) => validName.test(name));
    return names.map((name) => {
      const { bytes } = JSON.parse(readFileSync(this.#facts(name), "utf8"));
      return { name, bytes, usedAt: statSync(this.#facts(name)).mtimeMs };
    });
  }

  async remove(name: string): Promise<void> {
    this.#mustExist(name);
    const users = this.#users.get(name);
    if (users) throw new Error(`The base ${name} is used by ${users} open sandboxes: close them first.`);
    // Gone at once, and to the end: what is left of a removal that was broken off is no base.
    const draft = `.gone-${randomUUID()}`;
    this.#drafts.add(draft);
    renameSync(join(this.#folder, name), join(this.#folder, draft));
    await removeFolder(join(this.#folder, draft)).finally(() => this.#drafts.delete(draft));
  }

  /** Removes what an earlier worker had half made or half removed. */
  async reap(): Promise<void> {
    const left = readdirSync(this.#folder).filter((name) => name.startsWith(".") && !this.#drafts.has(name));
    for (const name of left) await removeFolder(join(this.#folder, name));
  }

  #mustExist(name: string): void {
    if (validName.test(name) && existsSync(this.#facts(name))) return;
    throw new Error(`There is no base ${JSON.stringify(name)}.`);
  }

  #facts(name: string): string {
    return join(this.#folder, name, "base.json");
  }
}
