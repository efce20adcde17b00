import type { MCPTransport } from "@ai-sdk/mcp";
import { errorResponse, type Message, type ParsedMessage } from "./messages/message.ts";
import type { PendingRequests } from "./pending-requests.ts";

/** The limit for unsolicited data between two responses. */
export const MAX_UNSOLICITED_BYTES = 64 * 2 ** 20;
export const UNSOLICITED_LIMIT_EXCEEDED = "The MCP server exceeded the unsolicited-data limit.";

export interface Transport extends MCPTransport {
  /** Called when the server reports progress of a request. */
  onprogress?: (id: number) => void;
}

export function isRequest(message: Message): message is Extract<Message, { method: string; id: unknown }> {
  return "method" in message && "id" in message;
}

/** Builds a cancellation notification, which the AI SDK's client does not send by itself. */
export function cancellation(id: string | number): Message {
  const params = { requestId: id, reason: "Outrider is no longer waiting for the response." };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

/**
 * Passes a message to the client. A message over a limit cannot be attributed, so it fails every request that waits for
 * a response. Returns whether the message was expected.
 */
export function deliver(transport: Transport, parsed: ParsedMessage, pending: PendingRequests): boolean {
  switch (parsed.type) {
    case "response":
      // The request may have been cancelled while its response was parsed.
      if (!pending.has(parsed.id)) return false;
      pending.settle(parsed.id);
      transport.onmessage?.(parsed.message);
      return true;
    case "request":
      transport.onmessage?.(parsed.message);
      return false;
    case "progress":
      if (pending.has(parsed.id)) transport.onprogress?.(parsed.id);
      return false;
    case "excessive":
      for (const id of pending.ids) {
        pending.settle(id);
        transport.onmessage?.(errorResponse(id, parsed.problem));
      }
      return false;
    default:
      return false;
  }
}
