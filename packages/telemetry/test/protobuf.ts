/** Decodes protobuf messages that a schema describes. Unknown fields are skipped, as in every decoder. */

type Scalar =
  | "string"
  | "hex"
  | "bool"
  | "varint"
  | "double"
  | "fixed64"
  | "sfixed64"
  | "fixed64s"
  | "doubles"
  | "fixed32";
export interface Message {
  [field: number]: [name: string, type: Scalar | Message | (() => Message), repeated?: "repeated"];
}
// biome-ignore lint/suspicious/noExplicitAny: tests read messages of all shapes
export type Decoded = any;

export function decode(bytes: Buffer, message: Message): Decoded {
  const result: Record<string, unknown> = {};
  const fields = Object.values(message) as Message[number][];
  for (const [name, , repeated] of fields) if (repeated) result[name] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const [tag, afterTag] = readVarint(bytes, offset);
    const wire = Number(tag & 7n);
    const [value, next] = readField(bytes, afterTag, wire);
    offset = next;
    const field = message[Number(tag >> 3n)];
    if (!field) continue;
    const [name, type, repeated] = field;
    const decoded = convert(value, type);
    if (repeated) (result[name] as unknown[]).push(decoded);
    else result[name] = decoded;
  }
  return result;
}

function readField(bytes: Buffer, offset: number, wire: number): [bigint | Buffer, number] {
  if (wire === 0) return readVarint(bytes, offset);
  if (wire === 1) return [bytes.subarray(offset, offset + 8), offset + 8];
  if (wire === 5) return [bytes.subarray(offset, offset + 4), offset + 4];
  if (wire !== 2) throw new Error(`unexpected wire type ${wire}`);
  const [length, start] = readVarint(bytes, offset);
  const end = start + Number(length);
  if (end > bytes.length) throw new Error("truncated message");
  return [bytes.subarray(start, end), end];
}

function readVarint(bytes: Buffer, start: number): [bigint, number] {
  let value = 0n;
  for (let offset = start, shift = 0n; ; offset += 1, shift += 7n) {
    const byte = bytes[offset];
    if (byte === undefined) throw new Error("truncated number");
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [value, offset + 1];
  }
}

function convert(value: bigint | Buffer, type: Scalar | Message | (() => Message)): unknown {
  if (typeof value === "bigint") return type === "bool" ? value === 1n : Number(BigInt.asIntN(64, value));
  if (typeof type === "function") return decode(value, type());
  if (typeof type === "object") return decode(value, type);
  const words = () => Array.from({ length: value.length / 8 }, (_, index) => index * 8);
  switch (type) {
    case "string":
      return value.toString();
    case "hex":
      return value.toString("hex");
    case "double":
      return value.readDoubleLE();
    case "fixed64":
      return value.readBigUInt64LE();
    case "sfixed64":
      return Number(value.readBigInt64LE());
    case "fixed32":
      return value.readUInt32LE();
    case "fixed64s":
      return words().map((offset) => Number(value.readBigUInt64LE(offset)));
    case "doubles":
      return words().map((offset) => value.readDoubleLE(offset));
    default:
      throw new Error(`unexpected bytes for ${type}`);
  }
}
