import { plainToolNames } from "@outrider/agent/mcp/tool-names";
import { toToolResult } from "@outrider/agent/mcp/tool-result";
import type { DescribedTool } from "@outrider/agent/mcp/tools";
import type { ToolResult } from "@outrider/agent/tools/tool";

/** A server as agents in the sandbox see it. */
export interface BridgedServer {
  name: string;
  tools: readonly BridgedTool[];
}

export interface BridgedTool {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  isReadOnly: boolean;
  /** Rejects with a message for the model. */
  call(input: Record<string, unknown>, options: BridgedCallOptions): Promise<ToolResult>;
}

export interface BridgedCallOptions {
  signal: AbortSignal;
  /** Called whenever the call makes progress. */
  onProgress(): void;
}

/** Offers the tools of the run's MCP servers under their own names, because each server has its own URL. */
export function bridgeServers(names: readonly string[], tools: readonly DescribedTool[]): BridgedServer[] {
  return names.map((name) => {
    const own = tools.filter(({ server }) => server.name === name);
    const toolNames = plainToolNames(
      name,
      own.map(({ server, listed }) => server.options.redact(listed.name)),
    );
    return { name, tools: own.map((tool, index) => bridgeTool(tool, toolNames[index] as string)) };
  });
}

function bridgeTool({ server, listed, description, inputSchema }: DescribedTool, name: string): BridgedTool {
  return {
    ...{ name, description, inputSchema },
    isReadOnly: listed.annotations?.readOnlyHint === true,
    async call(input, { signal, onProgress }) {
      const returned = await server.call(listed.name, input, signal, onProgress);
      return toToolResult(returned, server.options.redact);
    },
  };
}
