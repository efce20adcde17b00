/**
 * The context of a span in the W3C format, as it is stored with a run and sent in headers and assignments.
 * https://www.w3.org/TR/trace-context/
 */
export interface TraceContext {
  traceparent: string;
  /** What other vendors add to the context. It is passed on unchanged. */
  tracestate?: string | undefined;
}

export interface ParsedTraceparent {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Longer values of `tracestate` are dropped, as the specification allows. */
const MAX_TRACESTATE_CHARACTERS = 512;

/** Returns undefined if the text is not a valid context. A later version may append fields. */
export function parseTraceparent(text: string): ParsedTraceparent | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  const [, version = "", traceId = "", spanId = "", flags = "", rest] = match ?? [];
  const isKnown = match && version !== "ff" && !(version === "00" && rest !== undefined);
  if (!isKnown || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: ParsedTraceparent): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** Reads the context of a request. Headers that occur several times arrive as one, joined with commas. */
export function readTraceContext(
  headers: Record<string, string | string[] | undefined>,
): TraceContext | undefined {
  const traceparent = String(headers.traceparent ?? "");
  if (!parseTraceparent(traceparent)) return undefined;
  const tracestate = String(headers.tracestate ?? "");
  const isUsable = tracestate !== "" && tracestate.length <= MAX_TRACESTATE_CHARACTERS;
  return { traceparent, ...(isUsable ? { tracestate } : {}) };
}
