import type { MCPServerConfig } from "@outrider/contract/agent-config";

const reference = /\$\{secrets\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** A value with each `${secrets.NAME}` filled in. */
export function filled(value: string, secrets: Record<string, string>): string {
  return value.replaceAll(reference, (_, name: string) => {
    const secret = secrets[name];
    if (secret === undefined)
      throw new Error(`It needs the secret ${name}, which the environment no longer has.`);
    return secret;
  });
}

/** Shorter ones are words like `true`, and hiding them would spoil every transcript. */
const SHORTEST = 8;

/**
 * What nobody may read in a transcript besides the secrets that have a name: values that stand in the configuration,
 * whole and without the scheme before them, for a server that repeats its key repeats the key alone.
 */
export function literalSecrets(servers: Record<string, MCPServerConfig> = {}): string[] {
  const values = Object.values(servers).flatMap(({ env = {}, headers = {} }) => [
    ...Object.values(env),
    ...Object.values(headers),
  ]);
  const literals = values.flatMap((value) => value.split(reference).filter((_, index) => index % 2 === 0));
  const all = literals.flatMap((literal) => [literal, ...literal.split(/\s+/), ...passwordsOf(literal)]);
  return [...new Set(all.map((each) => each.trim()).filter(({ length }) => length >= SHORTEST))];
}

function passwordsOf(literal: string): string[] {
  const [, encoded] = /^Basic\s+(\S+)$/i.exec(literal.trim()) ?? [];
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded ?? "", "base64").toString()) ?? [];
  return password === undefined ? [] : [password];
}
