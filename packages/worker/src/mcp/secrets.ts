import type { MCPServerConfig } from "@outrider/contract/agent-config";

const reference = /\$\{secrets\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Replaces each `${secrets.NAME}` in a value. */
export function fillSecrets(value: string, secrets: Record<string, string>): string {
  return value.replaceAll(reference, (_, name: string) => {
    const secret = secrets[name];
    if (secret === undefined)
      throw new Error(`It needs the secret ${name}, which no longer exists in the environment.`);
    return secret;
  });
}

/** Shorter values are often words like `true`, and masking them would make transcripts unreadable. */
const MIN_CHARACTERS = 8;

/**
 * Returns the literal values in MCP server configurations, which must be redacted like named secrets. Each value is
 * also returned without its scheme (such as `Bearer`), because a server that prints its key prints the key alone.
 */
export function literalSecrets(servers: Record<string, MCPServerConfig> = {}): string[] {
  const values = Object.values(servers).flatMap(({ env = {}, headers = {} }) => [
    ...Object.values(env),
    ...Object.values(headers),
  ]);
  const literals = values.flatMap((value) => value.split(reference).filter((_, index) => index % 2 === 0));
  const candidates = literals.flatMap((literal) => [
    literal,
    ...literal.split(/\s+/),
    ...basicPasswords(literal),
  ]);
  return [
    ...new Set(candidates.map((value) => value.trim()).filter(({ length }) => length >= MIN_CHARACTERS)),
  ];
}

function basicPasswords(literal: string): string[] {
  const [, encoded] = /^Basic\s+(\S+)$/i.exec(literal.trim()) ?? [];
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded ?? "", "base64").toString()) ?? [];
  return password === undefined ? [] : [password];
}
