import type { MCPServerConfig } from "@outrider/sdk";
import { Complaint } from "../exit.ts";
import { pairOf } from "./pairs.ts";
import { readObject } from "./text.ts";

/**
 * Each is a JSON file with a map of servers, also below `mcpServers` or `mcp_servers` as other programs write it, or
 * `name=https://…` or `name=command with arguments`.
 */
export async function mcpServersOf(
  texts: string[] | undefined,
): Promise<Record<string, MCPServerConfig> | undefined> {
  if (!texts) return undefined;
  const servers: Record<string, MCPServerConfig> = {};
  for (const text of texts) {
    const more = text.includes("=") ? Object.fromEntries([oneOf(text)]) : await mapIn(text);
    for (const [name, server] of Object.entries(more)) {
      if (Object.hasOwn(servers, name)) throw new Complaint(`--mcp names ${JSON.stringify(name)} twice.`);
      servers[name] = server;
    }
  }
  return servers;
}

function oneOf(text: string): [string, MCPServerConfig] {
  const [name, value] = pairOf("--mcp", text);
  if (/^https?:\/\//.test(value)) return [name, { url: value }];
  const [command, ...args] = value.split(/\s+/).filter(Boolean);
  if (!command) throw new Complaint(`--mcp ${name}= needs a command or an address.`);
  return [name, { command, ...(args.length > 0 ? { args } : {}) }];
}

async function mapIn(path: string): Promise<Record<string, MCPServerConfig>> {
  const file = await readObject(path);
  // What is wrong with a server the API says, and it names the member.
  return (file.mcpServers ?? file.mcp_servers ?? file) as Record<string, MCPServerConfig>;
}
