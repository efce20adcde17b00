/** How long a model call is waited for, and how often it is tried again. */
export interface Patience {
  tries: number;
  /** No try begins later than this after the first. */
  totalMs: number;
  /** Before the second try; each later one waits longer. */
  delayMs: number;
  /** The most between two tries, whatever the provider asks for. */
  maxDelayMs: number;
  /** Until the first word or call, and wherever the model thinks: a long conversation takes a while to read. */
  firstMs: number;
  /** Between one piece and the next. */
  idleMs: number;
}

export const usualPatience: Patience = {
  tries: 8,
  totalMs: 10 * 60_000,
  delayMs: 1_000,
  maxDelayMs: 120_000,
  firstMs: 5 * 60_000,
  idleMs: 2 * 60_000,
};

/** Back-off grows to this many times its beginning. */
const GROWTH = 2.5;
const SLOWEST = 60;

/** With jitter, so that the runs of one worker do not come back all at once. What the provider asks for is waited in full. */
export function delayBefore(
  attempt: number,
  { delayMs, maxDelayMs }: Patience,
  afterMs: number | undefined,
): number {
  const grown = delayMs * Math.min(GROWTH ** (attempt - 1), SLOWEST);
  const jittered = grown * (0.5 + Math.random() / 2);
  const asked = afterMs === undefined ? jittered : afterMs + Math.random() * Math.min(delayMs, afterMs) * 0.1;
  return Math.round(Math.min(asked, maxDelayMs));
}
