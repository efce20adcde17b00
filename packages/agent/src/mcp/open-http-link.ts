import { type Connection, connect } from "./connection.ts";
import { HttpError, type Send } from "./http.ts";
import { HttpTransport } from "./http-transport.ts";
import { SseTransport } from "./sse-transport.ts";

/** A connection together with its transport. */
export interface Link {
  transport: "stdio" | "http" | "sse";
  connection: Connection;
  /**
   * Returns full sentences that explain why the connection failed and quote the server's last output. Empty if the
   * cause is unknown.
   */
  describeFailure(): Promise<string>;
  close(): Promise<void>;
}

/** Servers that support only the older transport respond to Streamable HTTP with one of these statuses. */
const NOT_STREAMABLE = [400, 404, 405];

/** Connects over Streamable HTTP, or over the older HTTP+SSE transport if the server does not support the newer one. */
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
    const describeFailure = async () => "";
    return { transport: "http", connection, describeFailure, close: () => connection.close() };
  } catch (error) {
    if (!(error instanceof HttpError) || !NOT_STREAMABLE.includes(error.status)) throw error;
    const transport = new SseTransport({ url, headers, send });
    const connection = await connect(transport, signal).catch((reason: Error) => {
      throw new Error(`${error.message} The older SSE transport also failed: ${reason.message}`);
    });
    const describeFailure = async () => transport.failure ?? "";
    return { transport: "sse", connection, describeFailure, close: () => connection.close() };
  }
}
