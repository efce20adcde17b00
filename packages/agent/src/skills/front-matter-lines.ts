/**
 * Reads the name and the description from front matter that the YAML parser rejects, in linear time. A field extends
 * to the next line that begins with a key. This accepts what people write by mistake: colons and quotation marks
 * within a text, tabs, repeated keys, and text that continues without indentation.
 */
export function readLines(frontMatter: string): { name?: string; description?: string } {
  const values = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of frontMatter.split("\n")) {
    const [, key, value = ""] = /^([A-Za-z_][\w-]{0,63})[ \t]*:(?:[ \t]+(.*))?$/.exec(line) ?? [];
    if (key !== undefined) {
      current = key === "name" || key === "description" ? [value] : undefined;
      if (current) values.set(key, current);
    } else if (!line.startsWith("#")) {
      current?.push(line);
    }
  }
  const fields: { name?: string; description?: string } = {};
  for (const key of ["name", "description"] as const) {
    const lines = values.get(key);
    if (lines) fields[key] = unquote(lines);
  }
  return fields;
}

function unquote(lines: string[]): string {
  const [first = "", ...rest] = lines;
  // The first line of a block contains only its style.
  const isBlock = /^[|>][+-]?\d?[+-]?\s*$/.test(first);
  const text = (isBlock ? rest : lines)
    .map((line) => line.trim())
    .join("\n")
    .trim();
  const quoteMark = text[0];
  if (isBlock || text.length < 2 || (quoteMark !== '"' && quoteMark !== "'")) return text;
  return text.endsWith(quoteMark) ? text.slice(1, -1).replaceAll(`\\${quoteMark}`, quoteMark) : text;
}
