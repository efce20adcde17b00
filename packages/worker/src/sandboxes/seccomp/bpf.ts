/**
 * A small assembler for the kernel's classic BPF, as seccomp takes it. A filter is written as a tree of decisions,
 * from the first word it looks at down to an answer; equal objects become one piece of the program.
 */
export type Decision = Answer | Load | Test;

interface Answer {
  answer: number;
}

/** Loads a word of the call's description, keeps the bits of the mask where there is one, then goes on. */
interface Load {
  load: number;
  mask?: number;
  next: Decision;
}

interface Test {
  /** Equal to the value, at least the value, or any of the value's bits. */
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

const codes = { load: 0x20, and: 0x54, equal: 0x15, atLeast: 0x35, anyOf: 0x45, answer: 0x06 };
const longestJump = 255;

export function compile(root: Decision): Instruction[] {
  // Jumps only lead forward, so the program is written from its end: what a jump leads to is already there.
  const reversed: Instruction[] = [];
  const placed = new Map<Decision, number>();

  function distance(to: number): number {
    const jump = reversed.length - 1 - to;
    if (jump > longestJump)
      throw new Error(`A jump over ${jump} instructions is longer than BPF can express.`);
    return jump;
  }

  function place(decision: Decision): number {
    const known = placed.get(decision);
    if (known !== undefined) return known;
    if ("answer" in decision) {
      reversed.push({ code: codes.answer, yes: 0, no: 0, value: decision.answer });
    } else if ("load" in decision) {
      if (distance(place(decision.next)) !== 0) throw new Error("What follows a load must stand behind it.");
      if (decision.mask !== undefined)
        reversed.push({ code: codes.and, yes: 0, no: 0, value: decision.mask });
      reversed.push({ code: codes.load, yes: 0, no: 0, value: decision.load });
    } else {
      const no = place(decision.no);
      const yes = place(decision.yes);
      reversed.push({
        code: codes[decision.test],
        yes: distance(yes),
        no: distance(no),
        value: decision.value,
      });
    }
    const at = reversed.length - 1;
    placed.set(decision, at);
    return at;
  }

  place(root);
  return reversed.reverse();
}

/** An array of struct sock_filter. */
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
