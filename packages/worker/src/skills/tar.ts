import type { SupportingFile } from "./supporting.ts";

const BLOCK = 512;

/** Files as a tar. A name too long for the format's plain form goes ahead as an entry of its own, as GNU tar does it. */
export function tarOf(files: readonly SupportingFile[]): Buffer {
  const parts = files.flatMap(({ path, data, isProgram }) => {
    const name = Buffer.from(path);
    const entry = [header(name, { size: data.length, mode: isProgram ? 0o755 : 0o644 }), padded(data)];
    if (name.length <= 100) return entry;
    const ahead = Buffer.concat([name, Buffer.alloc(1)]);
    return [header(Buffer.from("name"), { size: ahead.length, mode: 0, type: "L" }), padded(ahead), ...entry];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function header(
  name: Buffer,
  { size, mode, type = "0" }: { size: number; mode: number; type?: string },
): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write("        ", 148); // what the sum is made over
  block.write(type, 156);
  block.write("ustar  \0", 257);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function padded(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);
}
