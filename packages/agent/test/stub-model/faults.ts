import type { Frame } from "./dialect.ts";

/** What goes wrong with one request. */
export type Fault =
  /** An answer with this status. `retryAfter` is the header as it stands: seconds, or a date. */
  | { type: "status"; status: number; message?: string; retryAfter?: number | string; retryAfterMs?: number }
  /** The connection breaks: before the first byte, or in the middle of what the stream carries. */
  | { type: "cut"; where: "headers" | Frame["kind"] }
  /** The stream ends in good order, but before its time. */
  | { type: "end"; where: Frame["kind"] }
  /** So long between one piece and the next. */
  | { type: "slow"; ms: number }
  /** Nothing comes any more, and the connection stays. */
  | { type: "silence"; where: "headers" | Frame["kind"] }
  /** A pause in the middle, with pings in it. */
  | { type: "pause"; where: Frame["kind"]; ms: number; pingMs: number }
  /** Arguments that are no JSON; with Gemini, its word for that. */
  | { type: "malformed" }
  /** Arguments that are JSON, but not what the tool takes. */
  | { type: "wrong_arguments" }
  | { type: "refusal"; message?: string }
  /** Gemini: the prompt itself is blocked and nothing is answered at all. */
  | { type: "blocked_prompt" }
  | { type: "length" }
  | { type: "overflow"; inStream?: boolean }
  /** An error as a part of a stream that began well. */
  | { type: "error"; where: Frame["kind"]; message?: string }
  /** Bytes that are no answer at all. */
  | { type: "garbage" };

const types = [
  "status",
  "cut",
  "end",
  "slow",
  "silence",
  "pause",
  "malformed",
  "wrong_arguments",
  "refusal",
  "blocked_prompt",
  "length",
  "overflow",
  "error",
  "garbage",
];

export function isFault(value: unknown): value is Fault & { times?: number } {
  return (
    typeof value === "object" && value !== null && types.includes((value as { type?: string }).type ?? "")
  );
}

/** Where a stream is broken: in the middle of the frames of a kind, or early where there are none. */
export function breakAt(frames: Frame[], where: Frame["kind"]): number {
  const fitting = frames.flatMap(({ kind }, index) => (kind === where ? [index] : []));
  return fitting[Math.floor(fitting.length / 2)] ?? Math.min(1, frames.length - 1);
}
