import { tarHeader, tarPadding } from "../tar-header.ts";

const NAME_BYTES = 100;

interface ArchiveEntry {
  path: string;
  size: number;
  mode: number;
  /** The type of the entry. Default: a file. */
  type?: string;
  /** The target of a link. */
  link?: string;
}

/**
 * Returns the header of an entry. Long names and the targets of links precede it as entries of their own, as in GNU
 * tar.
 */
export function archiveHeader({ path, link, ...entry }: ArchiveEntry): Buffer {
  const name = Buffer.from(path);
  return Buffer.concat([
    ...(name.length > NAME_BYTES ? textEntry(name, "L") : []),
    ...(link === undefined ? [] : textEntry(Buffer.from(link), "K")),
    tarHeader(name, entry),
  ]);
}

function textEntry(text: Buffer, type: "L" | "K"): Buffer[] {
  const data = Buffer.concat([text, Buffer.alloc(1)]);
  return [
    tarHeader(Buffer.from("name"), { size: data.length, mode: 0, type }),
    data,
    tarPadding(data.length),
  ];
}
