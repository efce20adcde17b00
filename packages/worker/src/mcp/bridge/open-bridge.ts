import type { McpServer } from "@agentclientprotocol/sdk";
import type { RunReceipt } from "@outrider/contract/run";
import type { PublishChanges } from "../../publishing/publish-changes.ts";
import type { OnDemandSkills } from "../../skills/on-demand-skills.ts";
import { type McpOptions, openMcpServers } from "../servers.ts";
import { bridgeServers } from "./bridged-server.ts";
import { McpBridge } from "./mcp-bridge.ts";
import { publishTool, skillServerName, skillTool } from "./skill-server.ts";

export interface OpenBridge {
  /** Answers requests below `/mcp/` of the gateway. */
  route: McpBridge;
  /** What agents are told in `session/new` and `session/load`. */
  sessionServers(gatewayUrl: string): McpServer[];
  /** Absent if the run has no MCP servers. */
  receipt: RunReceipt["mcp_servers"];
  close(): Promise<void>;
}

/**
 * Starts the run's MCP servers and offers them to the agent in the sandbox, with a server for Outrider's own tools: for
 * the skills of the run's repositories and for publishing, if there is anything to use them with. Rejects with a Failure that names the first server that did not start.
 */
export async function openBridge(
  options: McpOptions & { publishing?: Pick<PublishChanges, "byAgent"> | undefined },
  { skills }: { skills: Pick<OnDemandSkills, "load" | "listed"> },
): Promise<OpenBridge> {
  const { assignment, redactor, signal, publishing } = options;
  const names = Object.keys(assignment.agent_config.mcp_servers ?? {});
  const mcp = names.length > 0 ? await openMcpServers(options) : undefined;
  const toolOptions = { redact: (text: string) => redactor.redact(text) };
  const byAgent: PublishChanges["byAgent"] | undefined =
    publishing && ((input, stop) => publishing.byAgent(input, stop));
  const ownTools = [
    ...(skills.listed.length > 0 ? [skillTool(skills, toolOptions)] : []),
    ...(byAgent ? [publishTool({ byAgent }, toolOptions)] : []),
  ];
  const closed = new AbortController();
  const route = new McpBridge({
    servers: [
      ...bridgeServers(names, mcp?.tools ?? []),
      ...(ownTools.length > 0 ? [{ name: skillServerName(names), tools: ownTools }] : []),
    ],
    signal: AbortSignal.any([signal, closed.signal]),
  });
  return {
    route,
    sessionServers: (gatewayUrl) =>
      route.names.map((name) => ({
        ...{ type: "http", name, headers: [] },
        url: `${gatewayUrl}${route.prefix}${name}`,
      })),
    receipt: mcp?.receipt,
    async close() {
      closed.abort();
      await mcp?.close();
    },
  };
}
