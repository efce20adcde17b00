/** What a registry asks for in its `WWW-Authenticate` header. */
export interface Challenge {
  scheme: string;
  parameters: Map<string, string>;
}

const MAX_LENGTH = 8192;
const scheme = /[\s,]*([A-Za-z][A-Za-z0-9-]*)(?:\s+|$)/y;
const parameter = /[\s,]*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/y;

/** Parses a list of challenges. A malformed rest is ignored. */
export function parseChallenges(header: string): Challenge[] {
  const text = header.slice(0, MAX_LENGTH);
  const challenges: Challenge[] = [];
  for (let at = 0; at < text.length; ) {
    parameter.lastIndex = at;
    const found = parameter.exec(text);
    const current = challenges.at(-1);
    if (found && current) {
      const [, name = "", quoted, token = ""] = found;
      const value = quoted === undefined ? token : quoted.replaceAll(/\\(.)/g, "$1");
      current.parameters.set(name.toLowerCase(), value);
      at = parameter.lastIndex;
      continue;
    }
    scheme.lastIndex = at;
    const next = scheme.exec(text);
    if (!next?.[1]) break;
    challenges.push({ scheme: next[1].toLowerCase(), parameters: new Map() });
    at = scheme.lastIndex;
  }
  return challenges;
}
