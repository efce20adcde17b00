import type { Frame } from "./dialect.ts";

/** A fault that the stub injects into one request. */
export type StubFault =
  /** A response with this status. `retryAfter` is the header's value: seconds or a date. */
  | { type: "status"; status: number; message?: string; retryAfter?: number | string; retryAfterMs?: number }
  /** The connection is lost before the first byte or inside the stream. */
  | { type: "cut"; where: "headers" | Frame["kind"] }
  /** The stream ends early without an error. */
  | { type: "end"; where: Frame["kind"] }
  /** A delay between the parts of the stream. */
  | { type: "slow"; ms: number }
  /** The connection stays open without any more data. */
  | { type: "silence"; where: "headers" | Frame["kind"] }
  /** A pause inside the stream, during which pings are sent. */
  | { type: "pause"; where: Frame["kind"]; ms: number; pingMs: number }
  /** Arguments that are not JSON; for Gemini, its finish reason for that. */
  | { type: "malformed" }
  /** JSON arguments that do not match the tool's schema. */
  | { type: "wrong_arguments" }
  | { type: "refusal"; message?: string }
  /** Gemini blocks the prompt and returns no candidates. */
  | { type: "blocked_prompt" }
  /** The output limit. `keep` is the number of characters of the text, or of the last call's arguments, that remain. */
  | { type: "length"; keep?: number }
  /** A response without text and calls, but with the script's reasoning. */
  | { type: "empty" }
  /** Reasoning in tags at the start of the text, as servers for open models send it. */
  | { type: "think_tags"; isUnclosed?: boolean }
  | { type: "overflow"; inStream?: boolean }
  /** An error inside a stream that started normally. */
  | { type: "error"; where: Frame["kind"]; message?: string }
  /** Bytes that are not a response. */
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
  "empty",
  "think_tags",
  "overflow",
  "error",
  "garbage",
];

export function isFault(value: unknown): value is StubFault & { times?: number } {
  return (
    typeof value === "object" && value !== null && types.includes((value as { type?: string }).type ?? "")
  );
}

/** Returns the frame at which the stream breaks: in the middle of the frames of a kind, or early if there are none. */
export function breakAt(frames: Frame[], where: Frame["kind"]): number {
  const matching = frames.flatMap(({ kind }, index) => (kind === where ? [index] : []));
  return matching[Math.floor(matching.length / 2)] ?? Math.min(1, frames.length - 1);
}
