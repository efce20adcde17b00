import { type CallToolResult, createMCPClient, type ListToolsResult } from "@ai-sdk/mcp";
import type { Transport } from "./transport.ts";

export type ListedTool = ListToolsResult["tools"][number];

const PAGES = 50;
const TOOLS = 1_000;

/** A server that has said what it is and what it can do. */
export interface Connection {
  /** What it calls itself, with its version. */
  server: string;
  tools: ListedTool[];
  isClosed(): boolean;
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** Rejects with what went wrong; the transport is then closed. */
export async function connect(transport: Transport, signal: AbortSignal): Promise<Connection> {
  const client = await createMCPClient({
    transport,
    clientName: "outrider",
    version: "1",
    // The revision of the protocol that has no `initialize` is too young to ask every server for it first.
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
      server: `${name} ${version}`.trim().slice(0, 200),
      tools: offersTools ? await listTools(client, signal) : [],
      isClosed: () => isClosed,
      call: (tool, input, within) =>
        client.callTool({ name: tool, arguments: input, options: { signal: within } }),
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => {});
    throw error;
  }
}

async function listTools(
  client: Awaited<ReturnType<typeof createMCPClient>>,
  signal: AbortSignal,
): Promise<ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES && tools.length < TOOLS; page++) {
    const listed = await client.listTools({ ...(cursor ? { params: { cursor } } : {}), options: { signal } });
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) break;
  }
  return tools.slice(0, TOOLS);
}
