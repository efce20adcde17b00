/**
 * Turns the archive of a base into a layer of an image, with all files at the paths that commands see.
 *
 * The archive of a base with an image has the entries of native/system-changes. A folder (type D) comes with its names: Y for
 * those in the archive and N for others, and all other names of the image below are removed:
 *
 * - A folder without N is complete. It becomes opaque, which hides everything that the image has there.
 * - Whiteouts need the names of the image, which only a container sees. So the layer contains the lists of the other folders
 *   as an archive for system-changes, which removes the rest in each container before the first command (folder-lists.ts).
 *
 * The archive comes from a hostile build. Nodes unpack the layer as root, so names must stay below the root and must not mean
 * something to those who unpack layers, and sizes and numbers are limited.
 */
import { Budget } from "../../../images/budget.ts";
import { ByteReader } from "../../../images/byte-reader.ts";
import { corrupt, printable, tooLarge, unsupported } from "../../../images/image-error.ts";
import { defaultImageLimits, type ImageLimits } from "../../../images/limits.ts";
import { isSparse, type ReadEntry, readEntries } from "../../../images/tar-entries.ts";
import { BLOCK, paddingOf, type TarEntry, writePosixHeader } from "../../../images/tar-header.ts";
import { expandSparse, sparseSizeOf } from "./expand-sparse.ts";
import { FolderLists } from "./folder-lists.ts";

/** A folder of the image that commands cannot use, and that builds do not contain. */
const ownFolder = ".outrider";
const listsName = `${ownFolder}/folders.tar`;
/** Where a container with the image finds the lists of its folders. */
export const folderListsPath = `/${listsName}`;

/** Nodes store files of images without holes, so a small archive could fill their disks. */
const maxHoleBytes = 2 ** 30;
const maxNameLength = 4096;
const opaqueName = ".wh..wh..opq";
const endOfArchive = Buffer.alloc(2 * BLOCK);
/** The attributes that system-changes stores. Others could mean something to the file systems of nodes. */
const storedAttribute =
  /^SCHILY\.xattr\.(user\..+|security\.capability|system\.posix_acl_(?:access|default))$/;
const none = { linkName: "", mode: 0o755, uid: 0, gid: 0, size: 0, mtime: 0 };

/** `archive`: without the description of a base with an image. */
export async function* writeBuildLayer(
  archive: AsyncIterable<Buffer>,
  limits: ImageLimits = defaultImageLimits,
): AsyncGenerator<Buffer> {
  const reader = new ByteReader(archive);
  const budget = new Budget(limits);
  const lists = new FolderLists();
  let opaque: string | undefined;
  let holeBytes = 0;
  for await (const entry of readEntries(reader, { allowsSparse: true })) {
    const name = nameOf(entry);
    budget.addEntry();
    const size = isSparse(entry) ? sparseSizeOf(entry) : entry.bodyBytes;
    holeBytes += Math.max(size - entry.bodyBytes, 0);
    if (holeBytes > maxHoleBytes) throw tooLarge("The build has files with holes of more than 1 GiB.");
    budget.addBytes(BLOCK + size);
    const header = { ...entry, name, ...detailsOf(entry) };
    lists.addChild(name);
    if (entry.type === "D") {
      const list = await readList(reader, entry);
      const isComplete = lists.add(header, list);
      if (name === ".") continue;
      yield writePosixHeader({ ...header, type: "5", name: `${name}/`, size: 0 });
      if (!isComplete || (opaque !== undefined && name.startsWith(`${opaque}/`))) continue;
      opaque = name;
      yield writePosixHeader({ ...none, type: "0", name: `${name}/${opaqueName}`, mode: 0 });
    } else if (entry.type === "5") yield writePosixHeader({ ...header, name: `${name}/`, size: 0 });
    else if (isSparse(entry)) yield* expandSparse(reader, { entry, header });
    else yield* copyEntry(reader, header);
  }
  yield* writeLists(lists);
  yield endOfArchive;
}

async function* copyEntry(reader: ByteReader, header: TarEntry & ReadEntry): AsyncGenerator<Buffer> {
  const { type, name, bodyBytes } = header;
  switch (type) {
    case "":
    case "0":
      yield writePosixHeader({ ...header, type: "0", linkName: "", size: bodyBytes });
      yield* reader.take(bodyBytes);
      yield Buffer.alloc(paddingOf(bodyBytes));
      return;
    case "1":
      yield writePosixHeader({ ...header, linkName: checkName(header.linkName), size: 0 });
      return;
    case "2":
    case "6":
      yield writePosixHeader({ ...header, size: 0 });
      return;
    default:
      throw corrupt(`The build's archive has an entry of an unknown type: ${printable(name)}.`);
  }
}

function* writeLists(lists: FolderLists): Generator<Buffer> {
  const archive = lists.toArchive();
  yield writePosixHeader({ ...none, type: "5", name: `${ownFolder}/`, mode: 0o700 });
  yield writePosixHeader({ ...none, type: "0", name: listsName, mode: 0o600, size: archive.length });
  yield archive;
  yield Buffer.alloc(paddingOf(archive.length));
}

async function readList(reader: ByteReader, { bodyBytes, name }: ReadEntry): Promise<Buffer> {
  if (bodyBytes > FolderLists.maxBytes)
    throw corrupt(`The build's folder ${printable(name)} has too many names.`);
  return Buffer.from(await reader.readExactly(bodyBytes));
}

function detailsOf({
  records,
  mode,
  mtime,
}: ReadEntry): Pick<TarEntry, "mode" | "mtime" | "xattrs" | "preciseMtime"> {
  const xattrs = [...(records ?? [])].flatMap(([key, value]) => {
    const attribute = storedAttribute.exec(key)?.[1];
    return attribute === undefined ? [] : [[attribute, value] as const];
  });
  return {
    mode: mode & 0o7777,
    mtime: Math.max(mtime, 0),
    preciseMtime: mtime < 0 ? undefined : records?.get("mtime")?.toString("latin1"),
    xattrs: Object.fromEntries(xattrs),
  };
}

function nameOf({ name, records }: ReadEntry): string {
  const used = records?.get("GNU.sparse.name")?.toString("latin1") ?? name;
  return used === "." ? used : checkName(used.replace(/\/+$/, ""));
}

/** Returns the name if it is one below the root. */
function checkName(name: string): string {
  const parts = name.split("/");
  const isValid = parts.every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\0"));
  if (!isValid || name.length > maxNameLength || parts[0] === ownFolder)
    throw corrupt(`The build's archive has an invalid name: ${printable(name)}.`);
  if (parts.some((part) => part.startsWith(".wh.")))
    throw unsupported(
      `The build has the file ${printable(name)}, whose name has a special meaning in images.`,
    );
  return name;
}
