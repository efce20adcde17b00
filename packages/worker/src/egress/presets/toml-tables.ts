/** The string values of each table. A table's key is the JSON of its path. */
export type TomlTables = Map<string, Record<string, string>>;

/**
 * Reads the tables and string values of a TOML file. Other values are ignored. This covers cargo's registries, which are
 * strings in tables such as `[source.mirror]`.
 */
export function parseTomlTables(text: string): TomlTables {
  const tables: TomlTables = new Map();
  let table: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[([^[\]]+)\]\s*(#.*)?$/.exec(line);
    if (header) {
      table = parseKey(header[1] as string);
      continue;
    }
    const [, key, basic, literal] =
      /^\s*([\w."'-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?$/.exec(line) ?? [];
    if (key === undefined) continue;
    const path = [...table, ...parseKey(key)];
    const name = path.pop() as string;
    const values = tables.get(JSON.stringify(path)) ?? {};
    values[name] = literal ?? (basic as string).replaceAll(/\\(["\\])/g, "$1");
    tables.set(JSON.stringify(path), values);
  }
  return tables;
}

function parseKey(text: string): string[] {
  const parts = text.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g);
  return [...parts].map(([, basic, literal, bare]) => basic ?? literal ?? bare ?? "");
}
