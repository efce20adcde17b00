import { endianness } from "node:os";
import { compile, type Decision, toBytes } from "./bpf.ts";
import { allow, notImplemented, rules } from "./rules.ts";

/** Offsets in struct seccomp_data. */
const nrOffset = 0;
const archOffset = 4;
const killProcess: Decision = { returns: 0x80000000 };

/** Ranges of system call numbers. A decision applies from its number up to the next one. */
type Ranges = [from: number, decision: Decision][];

function rangesOf(column: 0 | 1): Ranges {
  const byNumber = new Map<number, Decision>();
  for (const [decision, calls] of rules) {
    for (const numbers of Object.values(calls)) {
      const number = numbers[column];
      if (number !== undefined) byNumber.set(number, decision);
    }
  }
  const boundaries = [...byNumber.keys()].flatMap((number) => [number, number + 1]).sort((a, b) => a - b);
  const ranges: Ranges = [[0, byNumber.get(0) ?? allow]];
  for (const from of boundaries) {
    const decision = byNumber.get(from) ?? allow;
    if (ranges.at(-1)?.[1] !== decision) ranges.push([from, decision]);
  }
  return ranges;
}

/** Builds a binary search with at most seven comparisons per call. */
function search(ranges: Ranges): Decision {
  const middle = ranges.length >> 1;
  const [from, decision] = ranges[middle] as Ranges[0];
  if (middle === 0) return decision;
  const [no, yes] = [search(ranges.slice(0, middle)), search(ranges.slice(middle))];
  return { test: "atLeast", value: from, yes, no };
}

// x32 numbers refer to different calls, so they return ENOSYS, as on a kernel without x32. -1 is a call that a debugger
// has cancelled.
const x32Bit = 0x40000000;
const withoutX32 = (decision: Decision): Decision => ({
  ...{ test: "atLeast", value: x32Bit, no: decision },
  yes: { test: "equal", value: 0xffffffff, yes: allow, no: notImplemented },
});

interface Architecture {
  audit: number;
  calls: () => Decision;
}

const architectures: Record<string, Architecture> = {
  x64: { audit: 0xc000003e, calls: () => withoutX32(search(rangesOf(0))) },
  arm64: { audit: 0xc00000b7, calls: () => search(rangesOf(1)) },
};

/**
 * Builds the filter for an architecture, given its Node name. Returns undefined if the architecture is not supported. A
 * process that makes another architecture's calls (32-bit) is killed, because the same numbers refer to different calls
 * there.
 */
export function buildSeccompFilter(arch: string = process.arch): Buffer | undefined {
  const known = architectures[arch];
  return known && endianness() === "LE" ? buildFor([known]) : undefined;
}

/** Builds one filter for machines of all these architectures. */
export function buildPortableSeccompFilter(): Buffer {
  return buildFor(Object.values(architectures));
}

function buildFor(known: Architecture[]): Buffer {
  const next = known.reduceRight<Decision>(
    (no, { audit, calls }) => ({
      ...{ test: "equal", value: audit, no },
      yes: { load: nrOffset, next: calls() },
    }),
    killProcess,
  );
  return toBytes(compile({ load: archOffset, next }));
}
