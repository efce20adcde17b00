/** Text on which a backtracking regular expression takes quadratic or exponential time. */

const LENGTH = 24_000;
/** Takes quadratic time on spaces. */
export const backtracking = /^(.*?)\s*\|/;
/** Half of the processor time that quadratic work takes on this machine. Linear work on a text takes far less. */
const MAX_CPU_MS = cpuMsOf((text) => backtracking.test(text), " ".repeat(LENGTH)) / 2;

const beginnings = ["", "https://", "ssh://", "git@", "o/r:", "*.", "RUN: a", "WRITE: ", "a\n"];
const middles = ["a", "0", ".", "-", "/", " ", "@", ":", "\n", "a.", "a-", "a/", "../"];
const ends = ["", "!", "\0", "\n!", "\u2028x"];

const hostileTexts: string[] = beginnings.flatMap((beginning) =>
  middles.flatMap((middle) => ends.map((end) => beginning + middle.repeat(LENGTH / middle.length) + end)),
);

/** Returns the first texts on which the work took too long, shortened for display. The work may throw. */
export function slowOn(work: (text: string) => unknown): string[] {
  const slow: string[] = [];
  for (const text of hostileTexts) {
    // Repeated, because garbage collection may run during the first measurement.
    if (cpuMsOf(work, text) > MAX_CPU_MS && cpuMsOf(work, text) > MAX_CPU_MS)
      slow.push(JSON.stringify(`${text.slice(0, 20)}…${text.slice(-10)}`));
    if (slow.length === 3) break;
  }
  return slow;
}

function cpuMsOf(work: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  try {
    work(text);
  } catch {}
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
