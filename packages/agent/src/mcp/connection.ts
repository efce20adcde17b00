import { createMCPClient } from "@ai-sdk/mcp";
import type { Transport } from "./json-rpc-messages.ts";
import { MAX_DESCRIBED_TOOLS, type ReducedTool } from "./messages/reduce-tool-list.ts";
import type { ServerToolResult } from "./messages/reduce-tool-result.ts";

const MAX_PAGES = 50;
const MAX_TOOLS = 1_000;

/** An initialized connection to an MCP server. */
export interface Connection {
  /** The name and version that the server reports. */
  server: string;
  tools: ReducedTool[];
  isClosed(): boolean;
  call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<ServerToolResult>;
  close(): Promise<void>;
}

/** Initializes the connection and lists the server's tools. Closes the transport if that fails. */
export async function connect(transport: Transport, signal: AbortSignal): Promise<Connection> {
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
      async call(tool, input, callSignal) {
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
