import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Base } from "../../sandbox.ts";

const validName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

/** A folder of a base, which is a volume. */
export interface BaseFolder {
  volume: string;
  uid: number;
  gid: number;
  mode: number;
}

/** What a base consists of in the engine. */
export interface BaseObjects {
  /** By the path of the folder in a sandbox. */
  folders: Record<string, BaseFolder>;
  /** The id of the image with the other changes to the system, if the sandbox had an image. */
  image?: string | undefined;
}

interface Entry extends BaseObjects {
  bytes: number;
}

/**
 * The saved bases of a worker: one file for each, which names the engine's objects. A base exists from the moment at which
 * its file does, and objects that no file names are leftovers.
 */
export class DockerBases {
  readonly #folder: string;
  readonly #useCounts = new Map<string, number>();

  constructor(root: string) {
    this.#folder = join(root, ".docker-bases");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
  }

  has(name: string): boolean {
    return validName.test(name) && existsSync(this.#path(name));
  }

  assertValidName(name: string): void {
    if (!validName.test(name)) throw new Error(`"${name}" is not a valid base name.`);
  }

  /** Protects the base from removal until it is released. */
  acquire(name: string): { objects: BaseObjects; release(): void } {
    const objects = this.#read(name);
    this.#useCounts.set(name, (this.#useCounts.get(name) ?? 0) + 1);
    const now = Date.now() / 1000;
    utimesSync(this.#path(name), now, now);
    const release = () => {
      const users = (this.#useCounts.get(name) ?? 0) - 1;
      if (users > 0) this.#useCounts.set(name, users);
      else this.#useCounts.delete(name);
    };
    return { objects, release };
  }

  add(name: string, entry: Entry): void {
    const draft = join(this.#folder, `.${name}`);
    writeFileSync(draft, JSON.stringify(entry), { mode: 0o600, flush: true });
    renameSync(draft, this.#path(name));
  }

  list(): Base[] {
    return this.#names().map((name) => {
      return { name, bytes: this.#read(name).bytes, usedAt: statSync(this.#path(name)).mtimeMs };
    });
  }

  /** Forgets the base and returns the objects to remove. */
  remove(name: string): BaseObjects {
    const objects = this.#read(name);
    const users = this.#useCounts.get(name);
    if (users) throw new Error(`The base ${name} is in use by ${users} open sandboxes. Close them first.`);
    rmSync(this.#path(name));
    return objects;
  }

  /** Forgets the bases with an object that is not among the existing ones, unless they are in use. Returns their names. */
  async removeIncomplete(listExisting: () => Promise<ReadonlySet<string>>): Promise<string[]> {
    const names = this.#names(); // those that are added meanwhile are complete
    if (names.length === 0) return [];
    const existing = await listExisting();
    const isIncomplete = (name: string) => !objectsOf(this.#read(name)).every((id) => existing.has(id));
    const incomplete = names.filter(
      (name) => this.has(name) && !this.#useCounts.has(name) && isIncomplete(name),
    );
    for (const name of incomplete) rmSync(this.#path(name));
    return incomplete;
  }

  /** Returns the names of all volumes and images of bases. */
  objectNames(): Set<string> {
    const all = this.#names().map((name) => this.#read(name));
    return new Set(all.flatMap(objectsOf));
  }

  #names(): string[] {
    return readdirSync(this.#folder).filter((name) => validName.test(name));
  }

  #read(name: string): Entry {
    if (!this.has(name)) throw new Error(`Base ${JSON.stringify(name)} not found.`);
    return JSON.parse(readFileSync(this.#path(name), "utf8"));
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

/** Returns the names of the volumes and of the image. */
function objectsOf({ folders, image }: BaseObjects): string[] {
  return [...Object.values(folders).map(({ volume }) => volume), ...(image ? [image] : [])];
}
