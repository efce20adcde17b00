import type { JSONRPCMessage } from "@ai-sdk/mcp";
import type { JsonLimits } from "../../json-meter.ts";

/** The message size limit. A 5 MB image takes up 7 MB in base64. */
export const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
/** The structure limits of a message. The largest legitimate messages are lists of tools with their schemas. */
export const messageLimits: JsonLimits = { depth: 100, values: 100_000 };

export type Message = JSONRPCMessage;

/** The methods of the requests that wait for a response, by request id. */
export type PendingMethods = ReadonlyMap<number, string>;

/** What a message from a server turned out to be. Every part of it is bounded, whatever the server sent. */
export type ParsedMessage =
  /** The response to a pending request. */
  | { type: "response"; id: number; message: Message }
  /** A request from the server, which the client answers. */
  | { type: "request"; message: Message }
  /** A notification that a pending request makes progress. */
  | { type: "progress"; id: number }
  /** Another notification, or a response to no pending request. */
  | { type: "unsolicited" }
  /** Not a message. */
  | { type: "invalid" }
  /** A message over a limit, whose content is unknown. The problem is a full sentence about the server. */
  | { type: "excessive"; problem: string };

/** Builds a response that fails the request with this message. */
export function errorResponse(id: number, message: string): Message {
  return { jsonrpc: "2.0", id, error: { code: -32_603, message } };
}
