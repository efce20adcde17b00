import { gzipSync } from "node:zlib";

export interface Member {
  name: string;
  /**
   * tar's type flags: 0 file, 1 hard link, 2 symlink, 3 and 4 devices, 5 folder, 6 fifo, S sparse file, x extended
   * header, L long name, D the names of a folder.
   */
  type?: "0" | "1" | "2" | "3" | "4" | "5" | "6" | "S" | "x" | "L" | "D";
  link?: string;
  text?: string;
  mode?: number;
  uid?: number;
  gid?: number;
  /** Default: the size of the text. */
  size?: number;
}

/** Creates an archive that tar itself would not create. */
export function hostileTar(members: Member[]): Buffer {
  return Buffer.concat([...members.map(recordsOf), Buffer.alloc(1024)]);
}

export const gzipped = (...parts: (Buffer | string)[]): Buffer =>
  gzipSync(Buffer.concat(parts.map((part) => Buffer.from(part))));

function recordsOf(member: Member): Buffer {
  const { name, type = "0", link = "", text = "", mode = 0o644, uid = 0, gid = 0 } = member;
  const head = Buffer.alloc(512);
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const fields: [at: number, value: string][] = [
    [0, name],
    [100, octal(mode, 7)],
    [108, octal(uid, 7)],
    [116, octal(gid, 7)],
    [124, octal(member.size ?? Buffer.byteLength(text), 11)],
    [136, octal(0, 11)],
    [148, "        "],
    [156, type],
    [157, link],
    [257, "ustar\0" + "00"],
    // The device number of the first disk on most machines.
    [329, octal(8, 7)],
    [337, octal(0, 7)],
  ];
  for (const [at, value] of fields) head.write(value, at, "latin1");
  const sum = head.reduce((all, byte) => all + byte, 0);
  head.write(`${octal(sum, 6)} `, 148, "latin1");
  body.write(text);
  return Buffer.concat([head, body]);
}
