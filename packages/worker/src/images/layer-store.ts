/**
 * The unpacked layers of images on this worker, one folder for each, shared by all sandboxes.
 *
 * - A layer is immutable once it has its final name, which is the beginning of its diff ID. The name is short, because
 *   the names of all layers of an image must fit in the options of one mount.
 * - Each layer has a lock file. It is locked exclusively while the layer is created or removed, and shared while it is
 *   in use. The locks work between processes, and the kernel releases them when a process ends.
 * - Names that start with a dot are drafts and removed layers. They belong to the holder of the layer's exclusive lock.
 * - Layers contain setuid programs of strangers, so only the worker can enter the folder.
 */
import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
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
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { Log } from "../log.ts";
import { removeFolder } from "../remove-folder.ts";
import { type Lock, tryLock } from "../repositories/lock.ts";
import { storeUid } from "../sandboxes/local/systems/uid-ranges.ts";
import type { UnpackedLayer } from "./unpack-layer.ts";

/** A layer that is in use. It stays on disk until it is released. */
export interface LayerRef extends UnpackedLayer {
  diffId: string;
  /** The name of the layer's folder in the store. */
  name: string;
  /** The layer's folder. If the worker runs as root, its owners are those of the image plus `storeUid`. */
  path: string;
  /** Does nothing if called again. */
  release(): void;
}

export interface LayerStoreOptions {
  /** The folder of all layers. */
  folder: string;
  /** The size above which layers that are not in use are removed, those used least recently first. */
  maxBytes: number;
  log: Log;
}

interface LayerMetadata extends UnpackedLayer {
  diffId: string;
}

const NAME_LENGTH = 20;
const POLL_MS = 50;
const layerName = /^[0-9a-f]{20}$/;
const leftoverName = /^\.(?:draft|blob|removed)-([0-9a-f]{20})$/;
const execOptions = { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" }, cwd: "/" };

export class LayerStore {
  readonly folder: string;
  readonly #maxBytes: number;
  readonly #log: Log;
  readonly #inUse = new Map<string, { lock: Lock; users: number }>();

  constructor({ folder, maxBytes, log }: LayerStoreOptions) {
    this.folder = folder;
    this.#maxBytes = maxBytes;
    this.#log = log;
    mkdirSync(join(folder, ".locks"), { recursive: true, mode: 0o700 });
    this.#chown(folder);
    chmodSync(folder, 0o700);
  }

  /** Sandboxes see the folder in a mount that maps only these ids. */
  #chown(path: string): void {
    if (process.getuid?.() === 0) chownSync(path, storeUid, storeUid);
  }

  /** Returns a layer that is on this worker, or undefined. */
  acquire(diffId: string): LayerRef | undefined {
    const name = nameOf(diffId);
    const entry = this.#inUse.get(name) ?? this.#share(name);
    const metadata = entry && this.#readMetadata(name);
    if (!metadata || metadata.diffId !== diffId) {
      if (entry?.users === 0) entry.lock[Symbol.dispose]();
      return undefined;
    }
    entry.users++;
    this.#inUse.set(name, entry);
    const now = Date.now() / 1000;
    utimesSync(this.#metadataPath(name), now, now);
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      if (--entry.users > 0) return;
      this.#inUse.delete(name);
      entry.lock[Symbol.dispose]();
    };
    return { ...metadata, name, path: join(this.folder, name), release };
  }

  /** Returns whether a layer is on this worker now. Only `acquire` keeps it there. */
  has(diffId: string): boolean {
    return this.#readMetadata(nameOf(diffId))?.diffId === diffId;
  }

  /**
   * Returns a layer and creates it if necessary. `create` fills an empty folder and may use a temporary file. If several
   * tasks or processes need the same layer, one of them creates it.
   */
  async ensure(
    diffId: string,
    create: (paths: { folder: string; blob: string }) => Promise<UnpackedLayer>,
    signal: AbortSignal,
  ): Promise<LayerRef> {
    const name = nameOf(diffId);
    for (;;) {
      const layer = this.acquire(diffId);
      if (layer) return layer;
      signal.throwIfAborted();
      using lock = tryLock(this.#lockPath(name));
      if (!lock) {
        await pause(POLL_MS, undefined, { signal });
      } else if (this.#readMetadata(name)?.diffId !== diffId) {
        await this.#removeLeftovers(name);
        if (existsSync(join(this.folder, name))) await this.#remove(name);
        await this.#create(diffId, create);
      }
    }
  }

  async #create(
    diffId: string,
    create: (paths: { folder: string; blob: string }) => Promise<UnpackedLayer>,
  ): Promise<void> {
    const name = nameOf(diffId);
    const folder = join(this.folder, `.draft-${name}`);
    const blob = join(this.folder, `.blob-${name}`);
    try {
      mkdirSync(folder);
      this.#chown(folder);
      chmodSync(folder, 0o755);
      const metadata: LayerMetadata = { diffId, ...(await create({ folder, blob })) };
      writeFileSync(this.#metadataPath(name), JSON.stringify(metadata), { mode: 0o600 });
      // Syncs the whole file system. Without root, the worker may be unable to open the layer's own folder.
      await promisify(execFile)("sync", ["-f", "--", this.folder], execOptions);
      renameSync(folder, join(this.folder, name));
    } catch (error) {
      await this.#removeLeftovers(name).catch(() => {});
      throw error;
    } finally {
      rmSync(blob, { force: true });
    }
  }

  /** Removes layers until the rest is smaller than the limit, or in use. */
  async evict(): Promise<void> {
    const layers = readdirSync(this.folder).flatMap((name) => {
      const metadata = layerName.test(name) ? this.#readMetadata(name) : undefined;
      return metadata ? [{ name, bytes: metadata.diskBytes, usedAt: this.#usedAt(name) }] : [];
    });
    let total = layers.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { name, bytes } of layers.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (total <= this.#maxBytes) return;
      using lock = tryLock(this.#lockPath(name));
      if (!lock) continue;
      await this.#remove(name);
      total -= bytes;
      this.#log.info({ layer: name, bytes }, "removed image layer");
    }
  }

  /** Removes what an earlier worker left behind. */
  async reap(): Promise<void> {
    const leftovers = readdirSync(this.folder).flatMap((file) => {
      const name = leftoverName.exec(file)?.[1] ?? /^([0-9a-f]{20})\.json$/.exec(file)?.[1];
      return name ? [name] : [];
    });
    for (const name of new Set(leftovers)) {
      using lock = tryLock(this.#lockPath(name));
      if (!lock) continue;
      await this.#removeLeftovers(name);
      if (!existsSync(join(this.folder, name))) rmSync(this.#metadataPath(name), { force: true });
    }
  }

  /** Renames the folder first, so that an interrupted removal never leaves a partial layer under its name. */
  async #remove(name: string): Promise<void> {
    renameSync(join(this.folder, name), join(this.folder, `.removed-${name}`));
    rmSync(this.#metadataPath(name), { force: true });
    await this.#removeLeftovers(name);
  }

  async #removeLeftovers(name: string): Promise<void> {
    for (const kind of ["draft", "removed"]) await removeFolder(join(this.folder, `.${kind}-${name}`));
    rmSync(join(this.folder, `.blob-${name}`), { force: true });
  }

  #share(name: string): { lock: Lock; users: number } | undefined {
    const lock = tryLock(this.#lockPath(name), { shared: true });
    return lock && { lock, users: 0 };
  }

  #readMetadata(name: string): LayerMetadata | undefined {
    if (!existsSync(join(this.folder, name))) return undefined;
    try {
      return JSON.parse(readFileSync(this.#metadataPath(name), "utf8"));
    } catch {
      return undefined;
    }
  }

  #usedAt(name: string): number {
    return statSync(this.#metadataPath(name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  #metadataPath(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  #lockPath(name: string): string {
    return join(this.folder, ".locks", name);
  }
}

function nameOf(diffId: string): string {
  return diffId.slice("sha256:".length, "sha256:".length + NAME_LENGTH);
}
