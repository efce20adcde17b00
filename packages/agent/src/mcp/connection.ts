import { createMCPClient } from "@ai-sdk/mcp";
import { isRequest, type Transport } from "./json-rpc-messages.ts";
import { MAX_DESCRIBED_TOOLS, type ReducedTool } from "./messages/reduce-tool-list.ts";
import type { ServerToolResult } from "./messages/reduce-tool-result.ts";

const MAX_PAGES = 50;
const MAX_TOOLS = 1_000;
/** More calls than an agent makes at the same time. */
const MAX_PROGRESS_SIGNALS = 100;

export interface CallOptions {
  signal: AbortSignal;
  /** Called whenever the server reports progress of the call. */
  onProgress(): void;
}

/** An initialized connection to an MCP server. */
export interface Connection {
  /** The name and version that the server reports. */
  server: string;
  tools: ReducedTool[];
  isClosed(): boolean;
  call(tool: string, input: Record<string, unknown>, options: CallOptions): Promise<ServerToolResult>;
  close(): Promise<void>;
}

/** Initializes the connection and lists the server's tools. Closes the transport if that fails. */
export async function connect(transport: Transport, signal: AbortSignal): Promise<Connection> {
  const progressListeners = requestProgress(transport);
  const client = await createMCPClient({
    transport,
    clientName: "outrider",
    version: "1",
    // Few servers support the protocol revision without `initialize` yet, so the client does not try it first.
    protocolVersionDiscovery: false,
    initializationOptions: { signal },
    onUncaughtError: () => {},
  });
  let isClosed = false;
  const { onclose } = transport;
  transport.onclose = () => {
    isClosed = true;
    onclose?.();
  };
  try {
    const { name, version } = client.serverInfo;
    const offersTools = client.initializeResult.capabilities.tools !== undefined;
    return {
      server: `${name} ${version}`.trim(),
      tools: offersTools ? await listTools(client, signal) : [],
      isClosed: () => isClosed,
      async call(tool, input, { signal: callSignal, onProgress }) {
        progressListeners.set(callSignal, onProgress);
        const options = { signal: callSignal };
        const result = await client.callTool({ name: tool, arguments: input, options });
        // The transport has reduced the result to this field.
        return (result as { toolResult: ServerToolResult }).toolResult;
      },
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => {});
    throw error;
  }
}

/**
 * Makes a transport ask for progress notifications, which the AI SDK's client does not do. The progress token of a call
 * is the id of its request. The client passes a call's signal on to the transport, so the signal identifies the call.
 */
function requestProgress(transport: Transport): WeakMap<AbortSignal, () => void> {
  const listeners = new WeakMap<AbortSignal, () => void>();
  const signals = new Map<number, AbortSignal>();
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const { signal } = options ?? {};
    if (!isRequest(message) || message.method !== "tools/call" || !signal) return send(message, options);
    const id = Number(message.id);
    signals.set(id, signal);
    // Only the latest calls can be in progress.
    for (const old of signals.keys()) {
      if (signals.size <= MAX_PROGRESS_SIGNALS) break;
      signals.delete(old);
    }
    const params = { ...message.params, _meta: { progressToken: id } };
    return send({ ...message, params }, options);
  };
  transport.onprogress = (id) => {
    const signal = signals.get(id);
    if (signal) listeners.get(signal)?.();
  };
  return listeners;
}

async function listTools(
  client: Awaited<ReturnType<typeof createMCPClient>>,
  signal: AbortSignal,
): Promise<ReducedTool[]> {
  const tools: ReducedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const listed = await client.listTools({ ...(cursor ? { params: { cursor } } : {}), options: { signal } });
    for (const tool of listed.tools as ReducedTool[])
      tools.push(tools.length < MAX_DESCRIBED_TOOLS ? tool : { name: tool.name, inputSchema: {} });
    cursor = listed.nextCursor;
    if (cursor === undefined) break;
  }
  return tools.slice(0, MAX_TOOLS);
}
