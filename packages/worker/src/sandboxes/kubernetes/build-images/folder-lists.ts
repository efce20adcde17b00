import { dirname } from "node:path/posix";
import { corrupt } from "../../../images/image-error.ts";
import { BLOCK, paddingOf, type TarEntry, writePosixHeader } from "../../../images/tar-header.ts";

interface FolderList {
  header: TarEntry;
  /** By name: whether the archive of the build has it. */
  names: Map<string, "Y" | "N">;
}

/** The names in those folders of a build of which the image has a part. */
export class FolderLists {
  /** All of them are in memory. */
  static readonly maxBytes = 32 * 2 ** 20;
  readonly #lists = new Map<string, FolderList>();
  #bytes = 0;

  /** Returns whether the archive has all names of the folder. Its list is not needed then. */
  add(header: TarEntry, list: Buffer): boolean {
    const names = parseNames(list);
    if (header.name !== "." && ![...names.values()].includes("N")) return true;
    this.#bytes += list.length;
    if (this.#bytes > FolderLists.maxBytes) throw corrupt("The build's archive has too many names.");
    this.#lists.set(header.name, { header, names });
    return false;
  }

  /** A volume is not in the list of its folder, and need not be a volume in other containers. */
  addChild(name: string): void {
    if (name === ".") return;
    const base = name.slice(name.lastIndexOf("/") + 1);
    const names = this.#lists.get(dirname(name))?.names;
    if (names && !names.has(base)) names.set(base, "Y");
  }

  /** Returns the archive that system-changes unpacks in a container with the files. */
  toArchive(): Buffer {
    const blocks = [...this.#lists.values()].flatMap(({ header, names }) => {
      const list = Buffer.from(
        `${[...names].map(([name, kind]) => `${kind}${name}\0`).join("")}\0`,
        "latin1",
      );
      const { length } = list;
      return [writePosixHeader({ ...header, size: length }), list, Buffer.alloc(paddingOf(length))];
    });
    return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
  }
}

/** Each name has the letter Y or N before it and a NUL after it, and the list ends with an empty name. */
function parseNames(list: Buffer): FolderList["names"] {
  const texts = list.toString("latin1").split("\0");
  const names = texts.slice(0, texts.indexOf(""));
  return new Map(
    names.map((text) => {
      const [kind, name] = [text[0], text.slice(1)];
      if ((kind !== "Y" && kind !== "N") || name === "" || name.includes("/"))
        throw corrupt("The build's archive has an invalid list of names.");
      return [name, kind];
    }),
  );
}
