/** Splits off the last character of UTF-8 text if its last bytes are missing. Bytes that are not UTF-8 are complete. */
export function splitLastCharacter(bytes: Buffer): { complete: Buffer; incomplete: Buffer } {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const first = bytes[bytes.length - length] as number;
    const isContinuation = (first & 0xc0) === 0x80;
    if (isContinuation) continue;
    const needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (needed <= length || first >= 0xf8) break;
    return { complete: bytes.subarray(0, -length), incomplete: bytes.subarray(-length) };
  }
  return { complete: bytes, incomplete: bytes.subarray(bytes.length) };
}
