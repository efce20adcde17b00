import { createHash } from "node:crypto";

/** The maximum length of tool names that all providers accept. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Returns the names under which the model sees the servers' tools: `server__tool`. A name that is too long or not
 * unique gets a suffix: a hash of its server and tool. The hash depends on nothing else, so names stay the same in
 * later turns.
 */
export function toolNames(tools: { server: string; tool: string }[]): string[] {
  const plain = tools.map(({ server, tool }) => `${sanitizeName(server)}__${sanitizeName(tool)}`);
  const counts = new Map<string, number>();
  for (const name of plain) counts.set(name, (counts.get(name) ?? 0) + 1);
  return tools.map((entry, index) => {
    const name = plain[index] as string;
    return counts.get(name) === 1 && name.length <= MAX_LENGTH ? name : hashedName(name, entry);
  });
}

function sanitizeName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function hashedName(name: string, { server, tool }: { server: string; tool: string }): string {
  const hash = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, HASH_LENGTH);
  return `${name.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
