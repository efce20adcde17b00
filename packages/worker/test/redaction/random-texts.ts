import { createHash } from "node:crypto";
import type { ByteStream } from "../../src/redaction/redact.ts";

/** Returns a function like Math.random that repeats its numbers for the same seed. */
export function seededRandom(seed: string): () => number {
  let count = 0;
  return () => createHash("sha256").update(`${seed} ${count++}`).digest().readUInt32BE() / 2 ** 32;
}

/** Redacts a text in chunks of random length. With an average of 1, each byte is a chunk. */
export function redactInChunks(
  stream: ByteStream,
  data: Buffer,
  { average, random }: { average: number; random: () => number },
): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < data.length; ) {
    const length = average === 1 ? 1 : Math.ceil(random() * 2 * average);
    parts.push(stream.push(data.subarray(start, start + length)));
    start += length;
  }
  return Buffer.concat([...parts, stream.end()]);
}

/** Sets of secrets that repeat themselves, overlap each other, or contain parts of encodings. */
export const secretSets = [
  ["s3cr3t-Väl+ue/x"],
  ["aaaaaaaa"],
  ["abab abab", "bababab%61"],
  [`q'"\\\n&<z>zz`],
  ["-----BEGIN KEY-----\nabcdefghijklmnopqrst\nshort\n-----END KEY-----\n", "first-secret"],
  ["0123456789", "00000000"],
  ["ä€ä€ä€"],
];

const noise = [
  "a",
  "\n",
  " ",
  "%",
  "\\",
  "&",
  "'",
  "+",
  "-",
  "0",
  "61",
  "YWFh",
  "=",
  "0000000",
  ": ",
  "  ",
  "|",
];
const moreNoise = [";", "\r\n", "word ", "ä", "\xff", "\0", "0x61, "];

/** Generates texts with secrets in all encodings, many of them cut off or broken, as latin1 bytes. */
export class RandomTexts {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }

  text(secrets: string[]): Buffer {
    let text = "";
    for (let part = 0; part < 6; part++) {
      for (let count = Math.floor(this.#random() * 4); count > 0; count--)
        text += this.pick([...noise, ...moreNoise]).repeat(1 + Math.floor(this.#random() * 3));
      const secret = this.pick(secrets);
      const form = this.#encode(Buffer.from(this.#random() < 0.5 ? secret : `x${secret}yz`));
      text += this.#random() < 0.5 ? form : form.slice(0, Math.floor(this.#random() * form.length));
    }
    return Buffer.from(text, "latin1");
  }

  #encode(bytes: Buffer): string {
    const text = bytes.toString("latin1");
    const some = (encode: (byte: number) => string) =>
      [...bytes].map((byte) => (this.#random() < 0.5 ? encode(byte) : String.fromCharCode(byte))).join("");
    const hex = (byte: number) => byte.toString(16).padStart(2, "0");
    const encoders = [
      () => text,
      () => some((byte) => `%${hex(byte)}`),
      () => some((byte) => `\\x${hex(byte)}`),
      () => some((byte) => `\\${byte.toString(8).padStart(3, "0")}`),
      () => some((byte) => `&#${byte};`),
      () => JSON.stringify(bytes.toString()),
      () => JSON.stringify(JSON.stringify(bytes.toString())),
      () => text.replaceAll("'", "'\\''"),
      () => text.replaceAll("\n", this.pick(["", "\n+", "\r\n"])),
      () =>
        bytes
          .toString("base64")
          .replace(/.{7}/g, (digits) => digits + this.pick(["", "\n", "\n+", "\r\n  ", "\\n"])),
      () => bytes.toString("hex").replace(/../g, (digits) => digits + this.pick(["", "", " ", ":", "\n"])),
      () => dumpLines(bytes, hexLine),
      () => dumpLines(bytes, characterLine),
    ];
    return this.pick(encoders)();
  }
}

function dumpLines(bytes: Buffer, line: (part: Buffer, offset: number) => string): string {
  let text = "";
  for (let offset = 0; offset < bytes.length; offset += 16)
    text += `${line(bytes.subarray(offset, offset + 16), offset)}\n`;
  return text;
}

function hexLine(part: Buffer, offset: number): string {
  const digits = part.toString("hex").replace(/.{4}(?=.)/g, "$& ");
  const text = part.toString("latin1").replace(/[^ -~]/g, ".");
  return `${offset.toString(16).padStart(8, "0")}: ${digits.padEnd(39)}  ${text}`;
}

function characterLine(part: Buffer, offset: number): string {
  const cells = [...part].map((byte) =>
    byte > 126 || byte < 32 ? ` ${byte.toString(8).padStart(3, "0")}` : `   ${String.fromCharCode(byte)}`,
  );
  return offset.toString(8).padStart(7, "0") + cells.join("");
}
