import { type Connection, connect } from "./connection.ts";
import { HttpRefusal, type Send } from "./http.ts";
import { HttpTransport } from "./http-transport.ts";
import { SseTransport } from "./sse-transport.ts";

/** A connection, and what is to be said where it breaks. */
export interface Link {
  transport: "stdio" | "http" | "sse";
  connection: Connection;
  /** Why it is gone and what it said last, in whole sentences; nothing where nobody knows. */
  complaint(): Promise<string>;
  close(): Promise<void>;
}

/** What a server that knows only the older transport answers to the newer one. */
const NOT_STREAMABLE = [400, 404, 405];

/** Streamable HTTP first. A server that does not know it is asked for the older stream of events. */
export async function openHttpLink({
  url,
  headers,
  send,
  signal,
}: {
  url: URL;
  headers: Record<string, string>;
  send: Send;
  signal: AbortSignal;
}): Promise<Link> {
  try {
    const connection = await connect(new HttpTransport({ url, headers, send }), signal);
    const complaint = async () => "";
    return { transport: "http", connection, complaint, close: () => connection.close() };
  } catch (error) {
    if (!(error instanceof HttpRefusal) || !NOT_STREAMABLE.includes(error.status)) throw error;
    const transport = new SseTransport({ url, headers, send });
    const connection = await connect(transport, signal).catch((reason: Error) => {
      throw new Error(`${error.message} Asked for the older stream of events: ${reason.message}`);
    });
    const complaint = async () => transport.failure ?? "";
    return { transport: "sse", connection, complaint, close: () => connection.close() };
  }
}
