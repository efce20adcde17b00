import { createHash } from "node:crypto";

/** What all providers take as the name of a tool is of these letters, and no longer. */
const LETTERS = 64;
const HASH = 8;

/**
 * The names under which a model sees tools of servers: `server__tool`. Where that is too long, or two would be the
 * same, a hash of both tells them apart; it depends on nothing else, so that a later turn finds the same names.
 */
export function toolNames(tools: { server: string; tool: string }[]): string[] {
  const plain = tools.map(({ server, tool }) => `${sanitised(server)}__${sanitised(tool)}`);
  return tools.map((each, index) => {
    const name = plain[index] as string;
    const isUnique = plain.indexOf(name) === plain.lastIndexOf(name);
    return isUnique && name.length <= LETTERS ? name : hashed(name, each);
  });
}

function sanitised(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
}

function hashed(name: string, { server, tool }: { server: string; tool: string }): string {
  const hash = createHash("sha256").update(`${server}\0${tool}`).digest("hex").slice(0, HASH);
  return `${name.slice(0, LETTERS - HASH - 1)}_${hash}`;
}
