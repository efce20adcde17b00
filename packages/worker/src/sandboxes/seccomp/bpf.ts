/**
 * A small compiler for classic BPF, the language of seccomp filters. A filter is a tree of decisions that ends in
 * return values. Identical objects are compiled once and shared.
 */
export type Decision = Return | Load | Test;

interface Return {
  returns: number;
}

/** Loads a word of struct seccomp_data, applies the mask if there is one, then continues with `next`. */
interface Load {
  load: number;
  mask?: number;
  next: Decision;
}

interface Test {
  /** Whether the loaded word equals the value, is at least the value, or has any of the value's bits. */
  test: "equal" | "atLeast" | "anyOf";
  value: number;
  yes: Decision;
  no: Decision;
}

export interface Instruction {
  code: number;
  yes: number;
  no: number;
  value: number;
}

const codes = { load: 0x20, and: 0x54, equal: 0x15, atLeast: 0x35, anyOf: 0x45, returns: 0x06 };
const maxJump = 255;

export function compile(root: Decision): Instruction[] {
  // Jumps only go forward, so the program is emitted from its end: a jump's target then already exists.
  const reversed: Instruction[] = [];
  const emitted = new Map<Decision, number>();

  function distance(to: number): number {
    const jump = reversed.length - 1 - to;
    if (jump > maxJump)
      throw new Error(`A jump over ${jump} instructions exceeds BPF's limit of ${maxJump}.`);
    return jump;
  }

  function emit(decision: Decision): number {
    const known = emitted.get(decision);
    if (known !== undefined) return known;
    if ("returns" in decision) {
      reversed.push({ code: codes.returns, yes: 0, no: 0, value: decision.returns });
    } else if ("load" in decision) {
      if (distance(emit(decision.next)) !== 0)
        throw new Error("A load must be followed immediately by the decision that uses it.");
      if (decision.mask !== undefined)
        reversed.push({ code: codes.and, yes: 0, no: 0, value: decision.mask });
      reversed.push({ code: codes.load, yes: 0, no: 0, value: decision.load });
    } else {
      const no = emit(decision.no);
      const yes = emit(decision.yes);
      reversed.push({
        code: codes[decision.test],
        yes: distance(yes),
        no: distance(no),
        value: decision.value,
      });
    }
    const at = reversed.length - 1;
    emitted.set(decision, at);
    return at;
  }

  emit(root);
  return reversed.reverse();
}

/** Serializes a program as an array of struct sock_filter. */
export function toBytes(program: Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, yes, no, value }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}
