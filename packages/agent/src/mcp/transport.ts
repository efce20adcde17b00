import { type JSONRPCMessage, type MCPTransport, validateJSONRPCMessage } from "@ai-sdk/mcp";

/** One message: an image of 5 MB is 7 MB in base64. */
export const MESSAGE_BYTES = 16 * 2 ** 20;
/** What a server may say in a row without answering anything. */
export const UNASKED_BYTES = 64 * 2 ** 20;

export type Message = JSONRPCMessage;
export type Transport = MCPTransport;

export function isRequest(message: Message): message is Extract<Message, { method: string; id: unknown }> {
  return "method" in message && "id" in message;
}

export function isAnswerTo(message: Message, id: unknown): boolean {
  return !("method" in message) && message.id === id;
}

/** Says that nobody waits for the answer any more. The client itself keeps that to itself. */
export function cancellation(id: string | number): Message {
  const params = { requestId: id, reason: "Outrider does not wait for it any longer." };
  return { jsonrpc: "2.0", method: "notifications/cancelled", params };
}

/** Undefined for whatever is no message of the protocol. */
export function parseMessage(text: string): Message | undefined {
  try {
    return validateJSONRPCMessage(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Hands a message over; false where it answers what nobody asked, or no longer. */
export function deliver(transport: Transport, message: Message): boolean {
  try {
    transport.onmessage?.(message);
    return true;
  } catch {
    return false;
  }
}
