/**
 * Parses a message from an MCP server and reduces it to what the client reads.
 *
 * The server may be hostile, so the order matters: the message is measured before it is parsed, and every part that is
 * passed on is bounded. The AI SDK's client validates the reduced message again. Its validator creates several objects
 * per invalid item and must therefore never see a message as the server sent it.
 */
import { findExcess } from "../../json-meter.ts";
import {
  errorResponse,
  type Message,
  messageLimits,
  type ParsedMessage,
  type PendingMethods,
} from "./message.ts";
import { MessageLimitError } from "./message-limit-error.ts";
import { reduceResult } from "./reduce-result.ts";
import { isObject, truncateText } from "./reduced-text.ts";

const [SPACE, OPEN_OBJECT] = [32, 123];
/** The caller redacts an error and then shortens it further. */
const MAX_ERROR_CHARACTERS = 16_000;
const PROGRESS_METHOD = "notifications/progress";
const MAX_METHOD_CHARACTERS = 100;
const MAX_ID_CHARACTERS = 100;

/** Parses a message. Never throws. */
export function parseMessage(bytes: Uint8Array, pending: PendingMethods): ParsedMessage {
  const first = firstByte(bytes);
  if (first === undefined) return { type: "unsolicited" };
  if (first !== OPEN_OBJECT) return { type: "invalid" };
  const excess = findExcess(bytes, messageLimits);
  if (excess !== undefined) return excessive(excess);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return { type: "invalid" };
  }
  if (!isObject(value) || value.jsonrpc !== "2.0") return { type: "invalid" };
  return "method" in value ? parseRequest(value, pending) : parseResponse(value, pending);
}

/** Returns whether the text can be a message. Many servers also print other lines. */
export function mayBeMessage(bytes: Uint8Array): boolean {
  return firstByte(bytes) === OPEN_OBJECT;
}

/** Returns the first byte that is not white space. */
function firstByte(bytes: Uint8Array): number | undefined {
  let at = 0;
  while (at < bytes.length && (bytes[at] as number) <= SPACE) at += 1;
  return bytes[at];
}

/** Describes a message over a limit. */
export function excessive(problem: string): ParsedMessage {
  return { type: "excessive", problem: `The server sent a message that ${problem}.` };
}

function parseRequest(
  { id, method, params }: Record<string, unknown>,
  pending: PendingMethods,
): ParsedMessage {
  if (typeof method !== "string") return { type: "invalid" };
  if (method === PROGRESS_METHOD && id === undefined) return parseProgress(params, pending);
  const isAnswerable =
    Number.isInteger(id) || (typeof id === "string" && id !== "" && id.length <= MAX_ID_CHARACTERS);
  if (!isAnswerable) return { type: "unsolicited" };
  const request = { id: id as string | number, method: truncateText(method, MAX_METHOD_CHARACTERS) };
  return { type: "request", message: { jsonrpc: "2.0", ...request } };
}

/** The progress token of a request is its id (see connection.ts). */
function parseProgress(params: unknown, pending: PendingMethods): ParsedMessage {
  const token = isObject(params) ? toRequestId(params.progressToken) : Number.NaN;
  return pending.has(token) ? { type: "progress", id: token } : { type: "unsolicited" };
}

/** Some servers return the id as a string. */
function toRequestId(id: unknown): number {
  return typeof id === "number" || typeof id === "string" ? Number(id) : Number.NaN;
}

function parseResponse(
  { id, result, error }: Record<string, unknown>,
  pending: PendingMethods,
): ParsedMessage {
  const requestId = toRequestId(id);
  const method = pending.get(requestId);
  if (method === undefined)
    return isObject(result) || isObject(error) ? { type: "unsolicited" } : { type: "invalid" };
  return { type: "response", id: requestId, message: toResponse(requestId, { method, result, error }) };
}

function toResponse(
  id: number,
  { method, result, error }: { method: string; result: unknown; error: unknown },
): Message {
  if (isObject(error)) {
    const { code, message } = error;
    const text = typeof message === "string" && message !== "" ? message : "The server returned an error.";
    return {
      jsonrpc: "2.0",
      id,
      error: {
        code: Number.isInteger(code) ? (code as number) : -32_603,
        message: truncateText(text, MAX_ERROR_CHARACTERS),
      },
    };
  }
  if (!isObject(result)) return errorResponse(id, "The server sent a response without a result.");
  try {
    return { jsonrpc: "2.0", id, result: reduceResult(method, result) };
  } catch (reason) {
    if (reason instanceof MessageLimitError) return errorResponse(id, reason.message);
    throw reason;
  }
}
