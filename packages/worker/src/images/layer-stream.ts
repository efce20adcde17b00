/**
 * Turns the tar archive of an image layer into one that is safe to extract, in the form that overlayfs expects.
 *
 * The archive is hostile. Each header is parsed, checked and written anew, so the program that extracts the result never
 * sees a byte of the original headers. Every path in the result is relative, has no symlink in it, and has parents that
 * the result itself has created. Whiteouts become character devices with the number 0:0. Opaque folders are returned
 * separately, because their attribute may need another privilege.
 */
import type { Budget } from "./budget.ts";
import { ByteReader } from "./byte-reader.ts";
import { corrupt, unsupported } from "./image-error.ts";
import {
  type FolderAttributes,
  type FolderNode,
  LayerTree,
  type Location,
  newFolder,
  quoteName,
} from "./layer-tree.ts";
import { type ReadEntry, readEntries } from "./tar-entries.ts";
import { BLOCK, paddingOf, type TarEntry, type TarHeader, writeHeader } from "./tar-header.ts";

/** What the layer contained that the sandbox will not see. */
export interface LayerCounts {
  /** Entries that were written, including implied folders and whiteouts. */
  entries: number;
  /** The space that the files take up, in blocks of 4 KiB. */
  diskBytes: number;
  skippedDevices: number;
  droppedAttributes: number;
  /** Files whose owner or setuid bit was dropped, because the worker is not root. */
  droppedOwners: number;
}

export interface OpaqueFolder extends FolderAttributes {
  path: string;
}

export interface LayerStreamOptions {
  budget: Budget;
  /** Whether owners, setuid bits and file capabilities can be written. */
  keepsOwners: boolean;
  /** Added to the ids of owners. */
  idOffset: number;
}

const MAX_ID = 65_535;
const MAX_TARGET_BYTES = 4_095;
const MAX_MTIME = 8 ** 11 - 1;
const DISK_BLOCK = 4_096;
const BATCH_BYTES = 64 * 1024;
const CAPABILITY = "security.capability";
const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";
/** The usual modes of folders that an archive may imply without an entry of their own. */
const impliedModes: Record<string, number> = { tmp: 0o1777, "var/tmp": 0o1777, root: 0o700 };

export class LayerStream {
  readonly counts: LayerCounts = {
    entries: 0,
    diskBytes: 0,
    skippedDevices: 0,
    droppedAttributes: 0,
    droppedOwners: 0,
  };
  readonly #options: LayerStreamOptions;
  readonly #tree = new LayerTree((path) => this.#writeImpliedFolder(path));
  #batch: Buffer[] = [];
  #batchBytes = 0;

  constructor(options: LayerStreamOptions) {
    this.#options = options;
  }

  get isRootOpaque(): boolean {
    return this.#tree.root.isOpaque;
  }

  /** Converts an uncompressed archive. Reads the input to its end, so that the caller can verify its digest. */
  async *convert(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const reader = new ByteReader(input);
    for await (const entry of readEntries(reader)) {
      this.#options.budget.checkBytes(entry.bodyBytes);
      const isWritten = this.#writeEntry(entry);
      for await (const chunk of reader.take(entry.bodyBytes)) {
        if (isWritten) yield* this.#write(chunk);
      }
      if (isWritten) this.#push(Buffer.alloc(paddingOf(entry.bodyBytes)));
      yield* this.#flush(BATCH_BYTES);
    }
    await reader.drain();
    for (const { node, path } of walk(this.#tree.root)) {
      if (node.kind !== "whiteout") continue;
      this.#writeHeader({ ...plainHeader, type: "3", name: path });
      yield* this.#flush(BATCH_BYTES);
    }
    this.#push(Buffer.alloc(2 * BLOCK));
    yield* this.#flush(0);
  }

  /** Returns the folders that hide what the layers below have in them. Call this after the conversion. */
  opaqueFolders(): OpaqueFolder[] {
    return [...walk(this.#tree.root)].flatMap(({ node, path }) =>
      node.kind === "folder" && node.isOpaque
        ? [{ path, ...(node.attributes ?? impliedAttributes(path)) }]
        : [],
    );
  }

  /** Writes an entry's header. Returns whether its body is to be written too. */
  #writeEntry(entry: ReadEntry): boolean {
    const location = this.#tree.locate(entry.name);
    if (location?.name.startsWith(WHITEOUT)) {
      this.#addWhiteout(location);
      return false;
    }
    switch (entry.type) {
      case "":
      case "0":
      case "7":
        return this.#writeFile(entry, location);
      case "1":
        return this.#writeHardLink(entry, location);
      case "2":
        return this.#writeSymlink(entry, location);
      case "5":
        return this.#writeFolder(entry, location);
      case "3":
      case "4":
      case "6":
        this.counts.skippedDevices++;
        return false;
      default:
        throw unsupported(`A layer has the entry ${quoteName(entry.name)} of an unsupported type.`);
    }
  }

  #writeFile(entry: ReadEntry, location: Location | undefined): boolean {
    if (!location) throw corrupt("A layer replaces the root folder by a file.");
    this.#tree.put(location, { kind: "file" });
    this.counts.diskBytes += Math.ceil(entry.size / DISK_BLOCK) * DISK_BLOCK;
    const xattrs = this.#keptAttributes(entry.records);
    this.#writeHeader({
      ...this.#attributesOf(entry),
      type: "0",
      name: location.path,
      size: entry.size,
      xattrs,
    });
    return true;
  }

  #writeHardLink(entry: TarHeader, location: Location | undefined): boolean {
    const target = this.#tree.find(entry.linkName.replace(/^\/+/, ""));
    if (!location || !target || (target.node.kind !== "file" && target.node.kind !== "symlink"))
      throw corrupt(
        `A layer has the hard link ${quoteName(entry.name)} to ${quoteName(entry.linkName)}, which is not a file in it.`,
      );
    // Extracting a link to itself would remove the file.
    if (target.path === location.path) return false;
    this.#tree.put(location, target.node);
    this.#writeHeader({ ...plainHeader, type: "1", name: location.path, linkName: target.path });
    return false;
  }

  #writeSymlink(entry: TarHeader, location: Location | undefined): boolean {
    const { linkName } = entry;
    if (!location || linkName === "" || linkName.length > MAX_TARGET_BYTES)
      throw corrupt(`A layer has the symlink ${quoteName(entry.name)} without a valid target.`);
    this.#tree.put(location, { kind: "symlink", target: linkName });
    this.#writeHeader({ ...this.#attributesOf(entry), type: "2", name: location.path, linkName });
    return false;
  }

  #writeFolder(entry: TarHeader, location: Location | undefined): boolean {
    const { mode, uid, gid, mtime } = this.#attributesOf(entry);
    // A sandbox's own layer decides about the root folder, and the worker must be able to enter the layer.
    if (!location) return false;
    const attributes = { mode, uid, gid, mtime };
    const old = location.parent.children.get(location.name);
    if (old?.kind === "folder") old.attributes = attributes;
    else {
      const folder = newFolder(attributes);
      folder.isOpaque = old?.kind === "whiteout";
      this.#tree.put(location, folder);
    }
    this.#writeHeader({ ...plainHeader, ...attributes, type: "5", name: location.path });
    return false;
  }

  /** A whiteout applies to the layers below, never to its own layer, in whatever order the entries come. */
  #addWhiteout({ parent, name, path }: Location): void {
    if (name === OPAQUE) {
      parent.isOpaque = true;
      return;
    }
    const hidden = name.slice(WHITEOUT.length);
    // Names that start with `.wh..wh.` are AUFS's own and have no meaning elsewhere.
    if (hidden.startsWith(WHITEOUT)) return;
    if (hidden === "" || hidden === "." || hidden === "..")
      throw corrupt(`A layer has the invalid whiteout ${quoteName(path)}.`);
    const old = parent.children.get(hidden);
    if (old?.kind === "folder") old.isOpaque = true;
    else if (!old) {
      // Counted here and not when it is written, because it takes up memory until then.
      this.#options.budget.addEntry();
      this.#tree.put({ parent, name: hidden, path }, { kind: "whiteout" });
    }
  }

  #writeImpliedFolder(path: string): void {
    this.#writeHeader({ ...plainHeader, ...impliedAttributes(path), type: "5", name: path });
  }

  #attributesOf(entry: TarHeader): TarEntry {
    const { uid, gid } = entry;
    for (const id of [uid, gid]) {
      if (id < 0 || id > MAX_ID)
        throw unsupported(
          `A layer has the entry ${quoteName(entry.name)}, which belongs to the id ${id}. The highest supported id is ${MAX_ID}.`,
        );
    }
    const mode = entry.mode & 0o7777;
    const mtime = Math.min(Math.max(entry.mtime, 0), MAX_MTIME);
    if (this.#options.keepsOwners) return { ...plainHeader, mode, uid, gid, mtime };
    const keptMode = mode & 0o1777;
    if (uid !== 0 || gid !== 0 || mode !== keptMode) this.counts.droppedOwners++;
    return { ...plainHeader, mode: keptMode, mtime };
  }

  /** Keeps file capabilities. Other attributes could change how overlayfs reads the layer. */
  #keptAttributes(records: Map<string, Buffer> | undefined): Record<string, Buffer> {
    const kept: Record<string, Buffer> = {};
    for (const [key, value] of records ?? []) {
      const [, name] = /^(?:SCHILY|LIBARCHIVE)\.xattr\.(.*)$/s.exec(key) ?? [];
      if (name === undefined) continue;
      if (name === CAPABILITY && key.startsWith("SCHILY") && this.#options.keepsOwners) kept[name] = value;
      else this.counts.droppedAttributes++;
    }
    return kept;
  }

  #writeHeader(entry: TarEntry): void {
    this.counts.entries++;
    this.counts.diskBytes += entry.type === "5" ? DISK_BLOCK : 0;
    this.#options.budget.addEntry();
    this.#push(writeHeader(entry, this.#options.idOffset));
  }

  *#write(chunk: Buffer): Generator<Buffer> {
    this.#push(chunk);
    yield* this.#flush(BATCH_BYTES);
  }

  #push(data: Buffer): void {
    this.#batch.push(data);
    this.#batchBytes += data.length;
  }

  /** Small pieces are joined, because each one would cost a system call. */
  *#flush(minBytes: number): Generator<Buffer> {
    if (this.#batchBytes < minBytes || this.#batchBytes === 0) return;
    yield this.#batch.length === 1 ? (this.#batch[0] as Buffer) : Buffer.concat(this.#batch);
    this.#batch = [];
    this.#batchBytes = 0;
  }
}

const plainHeader: TarEntry = {
  type: "0",
  name: "",
  linkName: "",
  mode: 0,
  uid: 0,
  gid: 0,
  size: 0,
  mtime: 0,
};

function impliedAttributes(path: string): FolderAttributes {
  return { mode: impliedModes[path] ?? 0o755, uid: 0, gid: 0, mtime: 0 };
}

/** Visits all nodes. A hostile tree may be deep, so this is not recursive. */
function* walk(root: FolderNode) {
  const folders: { folder: FolderNode; path: string }[] = [{ folder: root, path: "" }];
  for (let next = folders.pop(); next; next = folders.pop()) {
    for (const [name, node] of next.folder.children) {
      const path = next.path === "" ? name : `${next.path}/${name}`;
      yield { node, path };
      if (node.kind === "folder") folders.push({ folder: node, path });
    }
  }
}
