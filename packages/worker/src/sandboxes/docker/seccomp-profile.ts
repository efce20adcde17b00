/**
 * Writes the seccomp filter of sandboxes in the form that container engines accept: rules with a name of a system call,
 * an error and conditions on arguments. A rule applies if all its conditions are true, and a condition can only compare
 * the bits of an argument under a mask. A decision such as "none of these values" therefore becomes several conditions.
 */
import type { Decision } from "../seccomp/bpf.ts";
import { rules } from "../seccomp/rules.ts";

interface Condition {
  index: number;
  /** The mask. */
  value: number;
  /** The expected bits. */
  valueTwo: number;
  op: "SCMP_CMP_MASKED_EQ";
}

interface Rule {
  names: string[];
  action: "SCMP_ACT_ERRNO";
  errnoRet: number;
  args: Condition[];
}

/** The values whose bits under the mask are these. Bits outside of the mask can have any value. */
interface Pattern {
  mask: number;
  bits: number;
}

/** The values that an argument may have at a point of a decision. Without a pattern for an argument, it may have any. */
type Path = Map<number, Pattern>;

const returnsErrno = 0x00050000;
const allBits = 0xffffffff;
const firstArgument = 16;
const architectures = { amd64: "SCMP_ARCH_X86_64", arm64: "SCMP_ARCH_AARCH64" } as Record<string, string>;

/** Returns undefined for an architecture without a filter. `arch`: that of the engine's machine. */
export function seccompProfile(arch: string): string | undefined {
  const architecture = architectures[arch];
  if (!architecture) return undefined;
  const column = arch === "amd64" ? 0 : 1;
  const syscalls = rules.flatMap(([decision, calls]) => {
    const names = Object.keys(calls).filter((name) => calls[name]?.[column] !== undefined);
    return names.length === 0 ? [] : rulesOf(decision, names);
  });
  return JSON.stringify({ defaultAction: "SCMP_ACT_ALLOW", architectures: [architecture], syscalls });
}

function rulesOf(decision: Decision, names: string[], path: Path = new Map()): Rule[] {
  if ("returns" in decision) {
    if ((decision.returns & 0xffff0000) >>> 0 !== returnsErrno) return [];
    const args = [...path].map(([index, { mask, bits }]): Condition => {
      return { index, value: mask, valueTwo: bits, op: "SCMP_CMP_MASKED_EQ" };
    });
    return [{ names, action: "SCMP_ACT_ERRNO", errnoRet: decision.returns & 0xffff, args }];
  }
  if (!("load" in decision)) throw new Error("A decision must load a word before it tests one.");
  const index = (decision.load - firstArgument) / 8;
  const { mask = allBits, next } = decision;
  return follow(
    next,
    { mask: 0, bits: 0 },
    (end, pattern) => rulesOf(end, names, pattern.mask === 0 ? path : new Map([...path, [index, pattern]])),
    mask,
  );
}

/** Calls back for each end of the tests of one word, with the values that lead there. */
function follow(
  decision: Decision,
  pattern: Pattern,
  atEnd: (end: Decision, pattern: Pattern) => Rule[],
  mask: number,
): Rule[] {
  if (!("test" in decision)) return atEnd(decision, pattern);
  const { test, value, yes, no } = decision;
  const [matching, other] = splitBy(test, value, pattern, mask);
  return [
    ...matching.flatMap((each) => follow(yes, each, atEnd, mask)),
    ...other.flatMap((each) => follow(no, each, atEnd, mask)),
  ];
}

function splitBy(
  test: "equal" | "atLeast" | "anyOf",
  value: number,
  pattern: Pattern,
  mask: number,
): [matching: Pattern[], other: Pattern[]] {
  if (test === "anyOf") return splitByBits(value & mask, pattern);
  const [below, equal, above] = splitByOrder(value, pattern, mask);
  return test === "equal" ? [equal, [...below, ...above]] : [[...equal, ...above], below];
}

/** Splits into the values with any of the bits, and those with none. */
function splitByBits(bits: number, pattern: Pattern): [any: Pattern[], none: Pattern[]] {
  const any: Pattern[] = [];
  let rest: Pattern | undefined = pattern;
  for (const bit of bitsOf(bits)) {
    if (!rest) break;
    const set = withBit(rest, bit, true);
    if (set) any.push(set);
    rest = withBit(rest, bit, false);
  }
  return [any, rest ? [rest] : []];
}

/** Splits into the values below, equal to and above a value: by the highest bit in which they differ from it. */
function splitByOrder(value: number, pattern: Pattern, mask: number): [Pattern[], Pattern[], Pattern[]] {
  const [below, above]: [Pattern[], Pattern[]] = [[], []];
  let same: Pattern | undefined = pattern;
  for (const bit of bitsOf(mask)) {
    if (!same) break;
    const isSet = (value & bit) !== 0;
    const differs = withBit(same, bit, !isSet);
    if (differs) (isSet ? below : above).push(differs);
    same = withBit(same, bit, isSet);
  }
  return [below, same ? [same] : [], above];
}

/** From the highest. */
function bitsOf(mask: number): number[] {
  return Array.from({ length: 32 }, (_, index) => (1 << (31 - index)) >>> 0).filter(
    (bit) => (mask & bit) !== 0,
  );
}

/** Returns undefined if no value of the pattern has this bit. */
function withBit({ mask, bits }: Pattern, bit: number, isSet: boolean): Pattern | undefined {
  if ((mask & bit) !== 0) return ((bits & bit) !== 0) === isSet ? { mask, bits } : undefined;
  return { mask: (mask | bit) >>> 0, bits: (isSet ? bits | bit : bits) >>> 0 };
}
