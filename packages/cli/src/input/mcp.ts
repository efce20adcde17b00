import type { MCPServerConfig } from "@outrider/sdk";
import { UsageError } from "../exit-codes.ts";
import { parsePair } from "./pairs.ts";
import { readObject } from "./text.ts";

/**
 * Parses --mcp flags. Each flag is `name=https://…`, `name=command with arguments`, or a JSON file with a map of
 * servers. The file may nest the map under `mcpServers` or `mcp_servers`, as other programs do.
 */
export async function parseMcpServers(
  texts: string[] | undefined,
): Promise<Record<string, MCPServerConfig> | undefined> {
  if (!texts) return undefined;
  const servers: Record<string, MCPServerConfig> = {};
  for (const text of texts) {
    const more = text.includes("=") ? Object.fromEntries([parseServer(text)]) : await readServers(text);
    for (const [name, server] of Object.entries(more)) {
      if (Object.hasOwn(servers, name)) throw new UsageError(`--mcp contains ${JSON.stringify(name)} twice.`);
      servers[name] = server;
    }
  }
  return servers;
}

function parseServer(text: string): [string, MCPServerConfig] {
  const [name, value] = parsePair("--mcp", text);
  if (/^https?:\/\//.test(value)) return [name, { url: value }];
  const [command, ...args] = value.split(/\s+/).filter(Boolean);
  if (!command) throw new UsageError(`--mcp ${name}= must be followed by a command or a URL.`);
  return [name, { command, ...(args.length > 0 ? { args } : {}) }];
}

async function readServers(path: string): Promise<Record<string, MCPServerConfig>> {
  const file = await readObject(path);
  // The API validates the servers and reports errors by field.
  return (file.mcpServers ?? file.mcp_servers ?? file) as Record<string, MCPServerConfig>;
}
