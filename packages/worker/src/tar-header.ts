const BLOCK = 512;
/** Larger sizes do not fit into the octal digits of the field. */
const MAX_OCTAL_SIZE = 8 ** 11 - 1;

/** Returns the header of one entry of a tar archive, as GNU tar writes it. The name has at most 100 bytes. */
export function tarHeader(
  name: Buffer,
  { size, mode, type = "0" }: { size: number; mode: number; type?: string },
): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  if (size <= MAX_OCTAL_SIZE) block.write(octal(size, 11), 124);
  else {
    block[124] = 0x80; // a binary number
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write(octal(0, 11), 136);
  block.write("        ", 148); // the checksum is computed with spaces in its own field
  block.write(type, 156);
  block.write("ustar  \0", 257);
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\0 `, 148);
  return block;
}

/** Returns the zeros that follow data of this size. */
export const tarPadding = (size: number) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** The end of an archive. */
export const tarEnd = Buffer.alloc(2 * BLOCK);

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
