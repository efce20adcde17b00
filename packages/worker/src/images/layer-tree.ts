import { corrupt, printable, tooLarge } from "./image-error.ts";

/** Attributes of a folder. They are written again if the folder turns out to be opaque. */
export interface FolderAttributes {
  mode: number;
  uid: number;
  gid: number;
  mtime: number;
}

export interface FolderNode {
  kind: "folder";
  children: Map<string, TreeNode>;
  /** Undefined for a folder that exists only because the archive has entries in it. */
  attributes: FolderAttributes | undefined;
  /** Whether the folder hides the content of the same folder in the layers below. */
  isOpaque: boolean;
}

export type TreeNode =
  | FolderNode
  | { kind: "file" }
  | { kind: "symlink"; target: string }
  /** Hides the name in the layers below. It is written last, and only if the layer has no entry with that name. */
  | { kind: "whiteout" };

export interface Location {
  parent: FolderNode;
  name: string;
  /** The path in the layer, without symlinks and without a leading slash. */
  path: string;
}

const MAX_PATH_BYTES = 4_000;
/** Bounds the memory for the names and symlink targets of a layer. */
const MAX_TEXT_BYTES = 256 * 2 ** 20;
const MAX_NAME_BYTES = 255;
const MAX_SYMLINKS = 40;
/** Bounds the time that symlinks in the paths of entries take to resolve. */
const MAX_SYMLINK_PARTS = 2_000_000;

/**
 * The tree of a layer, built from the headers of its archive. It decides where each entry is written: every parent of
 * the path that it returns is a folder that this layer has created. Names are therefore never resolved on disk.
 */
export class LayerTree {
  readonly root: FolderNode = newFolder();
  /** Called for each folder that an entry implies, before that entry. */
  readonly #onFolder: (path: string) => void;
  #symlinkParts = 0;
  #textBytes = 0;

  constructor(onFolder: (path: string) => void) {
    this.#onFolder = onFolder;
  }

  /** Finds the place of an entry and creates its parents. Returns undefined for the root itself. */
  locate(name: string): Location | undefined {
    const parts = splitName(name);
    const last = parts.pop();
    if (last === undefined) return undefined;
    const { folder, path } = this.#enter(parts, name);
    return { parent: folder, name: last, path: join(path, last, name) };
  }

  /** Finds an existing entry, for a hard link. Creates nothing. */
  find(name: string): { node: TreeNode; path: string } | undefined {
    const parts = splitName(name);
    const last = parts.pop();
    const found = last === undefined ? undefined : this.#enter(parts, name, false);
    const node = last === undefined ? undefined : found?.folder.children.get(last);
    return node && found && last !== undefined ? { node, path: join(found.path, last, name) } : undefined;
  }

  /** Replaces what an earlier entry wrote to the same place. */
  put({ parent, name, path }: Location, node: TreeNode): void {
    const old = parent.children.get(name);
    if (old?.kind === "folder" && old.children.size > 0 && node.kind !== "folder")
      throw corrupt(`A layer replaces its own folder ${quoteName(path)} by a file.`);
    parent.children.set(
      this.#copy(name),
      node.kind === "symlink" ? { ...node, target: this.#copy(node.target) } : node,
    );
  }

  /** Copies a part of a longer text, which would otherwise keep all of that text in memory, and bounds their sum. */
  #copy(text: string): string {
    this.#textBytes += text.length;
    if (this.#textBytes > MAX_TEXT_BYTES) throw tooLarge("A layer has too many long names.");
    return Buffer.from(text, "latin1").toString("latin1");
  }

  /** Follows folders and symlinks from the root, as the system would if the layer were its root. */
  #enter(parts: string[], name: string, creates?: true): { folder: FolderNode; path: string };
  #enter(parts: string[], name: string, creates: false): { folder: FolderNode; path: string } | undefined;
  #enter(parts: string[], name: string, creates = true): { folder: FolderNode; path: string } | undefined {
    const rest = parts.toReversed();
    const stack: { folder: FolderNode; path: string }[] = [{ folder: this.root, path: "" }];
    for (let symlinks = 0; ; ) {
      const part = rest.pop();
      const here = stack.at(-1) as { folder: FolderNode; path: string };
      if (part === undefined) return here;
      if (part === "..") {
        stack.pop();
        if (stack.length === 0)
          throw corrupt(`A layer has the entry ${quoteName(name)}, which leaves the layer.`);
        continue;
      }
      const child = here.folder.children.get(part);
      if (child?.kind === "folder") {
        stack.push({ folder: child, path: join(here.path, part, name) });
      } else if (child?.kind === "symlink") {
        if (++symlinks > MAX_SYMLINKS) throw corrupt(`A layer has a symlink loop at ${quoteName(name)}.`);
        if (child.target.startsWith("/")) stack.length = 1;
        const target = child.target.split("/").filter(isPart);
        this.#symlinkParts += target.length;
        if (this.#symlinkParts > MAX_SYMLINK_PARTS)
          throw corrupt("A layer has too many entries below symlinks.");
        rest.push(...target.toReversed());
      } else if (child?.kind === "file") {
        throw corrupt(`A layer has the entry ${quoteName(name)} below something that is not a folder.`);
      } else {
        if (!creates) return undefined;
        const folder = newFolder();
        // A folder that the same layer also removes is new: it hides the folder below.
        folder.isOpaque = child?.kind === "whiteout";
        const path = join(here.path, part, name);
        here.folder.children.set(this.#copy(part), folder);
        this.#onFolder(path);
        stack.push({ folder, path });
      }
    }
  }
}

export function newFolder(attributes?: FolderAttributes): FolderNode {
  return { kind: "folder", children: new Map(), attributes, isOpaque: false };
}

/** Splits the name of an entry. Kaniko names the root `/`; every other absolute name is rejected. */
function splitName(name: string): string[] {
  if (name.length > MAX_PATH_BYTES)
    throw corrupt(`A layer has the entry ${quoteName(name)}, whose path is too long.`);
  if (name.startsWith("/") && name !== "/")
    throw corrupt(`A layer has the entry ${quoteName(name)}, whose path is absolute.`);
  const parts = name.split("/").filter(isPart);
  if (parts.includes(".."))
    throw corrupt(`A layer has the entry ${quoteName(name)}, whose path contains "..".`);
  return parts;
}

function isPart(part: string): boolean {
  return part !== "" && part !== ".";
}

function join(folder: string, part: string, name: string): string {
  const path = folder === "" ? part : `${folder}/${part}`;
  if (part.length > MAX_NAME_BYTES || path.length > MAX_PATH_BYTES)
    throw corrupt(`A layer has the entry ${quoteName(name)}, whose path is too long.`);
  return path;
}

export function quoteName(name: string): string {
  return JSON.stringify(printable(Buffer.from(name.slice(0, 500), "latin1").toString(), 100));
}
