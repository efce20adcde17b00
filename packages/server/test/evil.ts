/** Text on which an expression that goes back and forth would never come to an end. */

const LENGTH = 12_000;
/** Squared, the length above takes far longer; once over it, next to nothing. */
const MOST_MS = 150;

const beginnings = ["", "https://", "ssh://", "git@", "o/r:", "*.", "RUN: a", "WRITE: ", "a\n"];
const middles = ["a", "0", ".", "-", "/", " ", "@", ":", "\n", "a.", "a-", "a/", "../"];
const ends = ["", "!", "\0", "\n!", "\u2028x"];

const evilTexts: string[] = beginnings.flatMap((beginning) =>
  middles.flatMap((middle) => ends.map((end) => beginning + middle.repeat(LENGTH / middle.length) + end)),
);

/** The first texts on which it took too long, as they can be shown. What it throws is its own affair. */
export function slowOn(work: (text: string) => unknown): string[] {
  const slow: string[] = [];
  for (const text of evilTexts) {
    // A machine may pause once by itself.
    if (msOf(work, text) > MOST_MS && msOf(work, text) > MOST_MS)
      slow.push(JSON.stringify(`${text.slice(0, 20)}…${text.slice(-10)}`));
    if (slow.length === 3) break;
  }
  return slow;
}

function msOf(work: (text: string) => unknown, text: string): number {
  const began = performance.now();
  try {
    work(text);
  } catch {}
  return performance.now() - began;
}
