import { endianness } from "node:os";
import { compile, type Decision, toBytes } from "./bpf.ts";
import { absent, allow, rules } from "./rules.ts";

/** Where struct seccomp_data has them. */
const nr = 0;
const architecture = 4;
const killProcess: Decision = { answer: 0x80000000 };

/** From which number on which decision holds, until the next. */
type Steps = [from: number, decision: Decision][];

function stepsOf(column: 0 | 1): Steps {
  const byNumber = new Map<number, Decision>();
  for (const [decision, calls] of rules) {
    for (const numbers of Object.values(calls)) {
      const number = numbers[column];
      if (number !== undefined) byNumber.set(number, decision);
    }
  }
  const borders = [...byNumber.keys()].flatMap((number) => [number, number + 1]).sort((a, b) => a - b);
  const steps: Steps = [[0, byNumber.get(0) ?? allow]];
  for (const from of borders) {
    const decision = byNumber.get(from) ?? allow;
    if (steps.at(-1)?.[1] !== decision) steps.push([from, decision]);
  }
  return steps;
}

/** A binary search: seven comparisons at most, whatever the call. */
function search(steps: Steps): Decision {
  const middle = steps.length >> 1;
  const [from, decision] = steps[middle] as Steps[0];
  if (middle === 0) return decision;
  const [no, yes] = [search(steps.slice(0, middle)), search(steps.slice(middle))];
  return { test: "atLeast", value: from, yes, no };
}

// The numbers of x32 mean other calls; a kernel without it answers the same. -1 is a call that a debugger has
// cancelled.
const x32Bit = 0x40000000;
const withoutX32 = (decision: Decision): Decision => ({
  ...{ test: "atLeast", value: x32Bit, no: decision },
  yes: { test: "equal", value: 0xffffffff, yes: allow, no: absent },
});

const architectures: Record<string, { audit: number; calls: () => Decision }> = {
  x64: { audit: 0xc000003e, calls: () => withoutX32(search(stepsOf(0))) },
  arm64: { audit: 0xc00000b7, calls: () => search(stepsOf(1)) },
};

/**
 * The filter for a processor as Node names it; undefined where we have none. A process that speaks another
 * architecture's calls (32 bits) is killed, since their numbers mean something else.
 */
export function seccompFilter(arch: string = process.arch): Buffer | undefined {
  const known = architectures[arch];
  if (!known || endianness() !== "LE") return undefined;
  const calls: Decision = { load: nr, next: known.calls() };
  return toBytes(
    compile({
      load: architecture,
      next: { test: "equal", value: known.audit, yes: calls, no: killProcess },
    }),
  );
}
