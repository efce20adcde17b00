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
import { removeFolder } from "../../../remove-folder.ts";
import type { Base } from "../../sandbox.ts";
import type { UnixAccount } from "../unix-account.ts";

const run = promisify(execFile);
const execOptions = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };
const folderName = ".bases";
const validName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/**
 * Bases are folders with a `workspace` and a `home` that sandboxes start from. A base is immutable once it has its
 * final name: sandboxes use it as the lower layer of an overlay and never write to it. Drafts and half-removed bases
 * have names that start with a dot.
 */
export class Bases {
  readonly #folder: string;
  readonly #useCounts = new Map<string, number>();
  readonly #drafts = new Set<string>();

  constructor(root: string, account: UnixAccount | undefined) {
    this.#folder = join(root, folderName);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // Only the worker and the sandbox user may traverse the folder.
    if (account) chownSync(this.#folder, 0, account.gid);
    chmodSync(this.#folder, 0o710);
  }

  /** Returns the base's folder, relative to the root, and protects it from removal until it is released. */
  acquire(name: string): { path: string; release(): void } {
    this.#assertExists(name);
    this.#useCounts.set(name, (this.#useCounts.get(name) ?? 0) + 1);
    const now = Date.now() / 1000;
    utimesSync(this.#metadataPath(name), now, now);
    const release = () => {
      const users = (this.#useCounts.get(name) ?? 0) - 1;
      if (users > 0) this.#useCounts.set(name, users);
      else this.#useCounts.delete(name);
    };
    return { path: join(folderName, name), release };
  }

  /** Creates a base. `fill` writes `workspace` and `home` to a folder, which becomes the base after a sync to disk. */
  async save(name: string, fill: (folder: string) => Promise<void>): Promise<void> {
    if (!validName.test(name)) throw new Error(`"${name}" is not a valid base name.`);
    if (existsSync(join(this.#folder, name))) return;
    const draft = `.new-${randomUUID()}`;
    const folder = join(this.#folder, draft);
    this.#drafts.add(draft);
    try {
      mkdirSync(folder, { mode: 0o711 });
      await fill(folder);
      // du fails on folders that even their owner cannot read. Their size is not counted, but the base is still valid.
      const usage = run("du", ["-sB1", "--", folder], execOptions);
      const { stdout } = await usage.catch((error: { stdout?: string }) => ({
        stdout: error.stdout || "0",
      }));
      writeFileSync(join(folder, "base.json"), JSON.stringify({ bytes: Number.parseInt(stdout, 10) }));
      await run("sync", ["-f", "--", folder], execOptions);
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
      const { bytes } = JSON.parse(readFileSync(this.#metadataPath(name), "utf8"));
      return { name, bytes, usedAt: statSync(this.#metadataPath(name)).mtimeMs };
    });
  }

  async remove(name: string): Promise<void> {
    this.#assertExists(name);
    const users = this.#useCounts.get(name);
    if (users) throw new Error(`The base ${name} is in use by ${users} open sandboxes. Close them first.`);
    // Renamed first, so that an interrupted removal never leaves a partial base under its name.
    const draft = `.removed-${randomUUID()}`;
    this.#drafts.add(draft);
    renameSync(join(this.#folder, name), join(this.#folder, draft));
    await removeFolder(join(this.#folder, draft)).finally(() => this.#drafts.delete(draft));
  }

  /** Removes bases that an earlier worker left partly created or partly removed. */
  async reap(): Promise<void> {
    const leftovers = readdirSync(this.#folder).filter(
      (name) => name.startsWith(".") && !this.#drafts.has(name),
    );
    for (const name of leftovers) await removeFolder(join(this.#folder, name));
  }

  #assertExists(name: string): void {
    if (validName.test(name) && existsSync(this.#metadataPath(name))) return;
    throw new Error(`Base ${JSON.stringify(name)} not found.`);
  }

  #metadataPath(name: string): string {
    return join(this.#folder, name, "base.json");
  }
}
