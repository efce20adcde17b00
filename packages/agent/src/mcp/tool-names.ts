import { createHash } from "node:crypto";

/** The maximum length of tool names that all providers accept. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const MIN_PLAIN_LENGTH = 16;

interface ServerTool {
  server: string;
  tool: string;
}

/**
 * Returns the names under which the model sees the servers' tools: `server__tool`. A name that is too long or not
 * unique gets a suffix: a hash of its server and tool. The hash depends on nothing else, so names stay the same in
 * later turns.
 */
export function toolNames(tools: readonly ServerTool[]): string[] {
  return uniqueNames(
    tools,
    ({ server, tool }) => `${sanitizeName(server)}__${sanitizeName(tool)}`,
    MAX_LENGTH,
  );
}

/**
 * Returns the names under which other agents see a server's tools: those of the server, as far as models accept them.
 * Agents add the name of the server, for example `mcp__server__tool`, and the result must not be too long either.
 */
export function plainToolNames(server: string, tools: readonly string[]): string[] {
  const maxLength = Math.max(MAX_LENGTH - `mcp__${server}__`.length, MIN_PLAIN_LENGTH);
  return uniqueNames(
    tools.map((tool) => ({ server, tool })),
    ({ tool }) => sanitizeName(tool),
    maxLength,
  );
}

function uniqueNames(
  tools: readonly ServerTool[],
  nameOf: (tool: ServerTool) => string,
  maxLength: number,
): string[] {
  const plain = tools.map(nameOf);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return tools.map((entry, index) => {
    const name = plain[index] as string;
    return counts.get(name) === 1 && name.length <= maxLength ? name : hashedName(name, entry, maxLength);
  });
}

function sanitizeName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function hashedName(name: string, { server, tool }: ServerTool, maxLength: number): string {
  const hash = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, maxLength - HASH_LENGTH - 1)}_${hash}`;
}
