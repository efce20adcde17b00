import type { SupportingFile } from "./supporting-files.ts";

const BLOCK = 512;

/** Creates a tar archive. A name longer than 100 bytes is stored in an extra entry before the file, as GNU tar does. */
export function createTar(files: readonly SupportingFile[]): Buffer {
  const parts = files.flatMap(({ path, data, isExecutable }) => {
    const name = Buffer.from(path);
    const entry = [header(name, { size: data.length, mode: isExecutable ? 0o755 : 0o644 }), pad(data)];
    if (name.length <= 100) return entry;
    const longName = Buffer.concat([name, Buffer.alloc(1)]);
    return [
      header(Buffer.from("name"), { size: longName.length, mode: 0, type: "L" }),
      pad(longName),
      ...entry,
    ];
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
  block.write("        ", 148); // the checksum is computed with spaces in its own field
  block.write(type, 156);
  block.write("ustar  \0", 257);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\0 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

function pad(data: Buffer): Buffer {
  return Buffer.concat([data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)]);
}
