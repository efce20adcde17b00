/** Runs a filter as the kernel would, so that filters for other architectures can be tested. */
export function runFilter(program: Buffer, call: { arch: number; nr: number; args: number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.nr, 0);
  data.writeUInt32LE(call.arch, 4);
  call.args.forEach((value, index) => {
    data.writeUInt32LE(value, 16 + 8 * index);
  });
  let word = 0;
  for (let at = 0; ; at++) {
    const [code, yes, no, value] = [
      program.readUInt16LE(at * 8),
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
      program.readUInt32LE(at * 8 + 4),
    ] as const;
    if (code === 0x06) return value;
    if (code === 0x20) word = data.readUInt32LE(value);
    else if (code === 0x54) word = (word & value) >>> 0;
    else if (code === 0x15) at += word === value ? yes : no;
    else if (code === 0x35) at += word >= value ? yes : no;
    else if (code === 0x45) at += (word & value) !== 0 ? yes : no;
    else throw new Error(`unknown instruction ${code}`);
  }
}
