/**
 * Converts a glob to an extended regular expression that matches a whole path. A glob without a slash matches names in
 * any folder. `**` matches across folders, `*` and `?` do not.
 */
export function globToRegExp(glob: string): string {
  const pattern = glob.replace(/^\.\//, "").replace(/^\/+/, "");
  return (glob.includes("/") ? "" : "(.*/)?") + translate(pattern);
}

function translate(glob: string): string {
  let out = "";
  let depth = 0;
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at] as string;
    if (glob.startsWith("**/", at) && (at === 0 || glob[at - 1] === "/")) {
      out += "(.*/)?";
      at += 2;
    } else if (glob.startsWith("**", at)) {
      out += ".*";
      at += 1;
    } else if (character === "*") out += "[^/]*";
    else if (character === "?") out += "[^/]";
    else if (character === "[") {
      const end = classEnd(glob, at);
      out += end === -1 ? "\\[" : classOf(glob.slice(at + 1, end));
      if (end !== -1) at = end;
    } else if (character === "{" && glob.indexOf("}", at) !== -1) {
      out += "(";
      depth += 1;
    } else if (character === "}" && depth > 0) {
      out += ")";
      depth -= 1;
    } else if (character === "," && depth > 0) out += "|";
    else if (character === "\\" && at + 1 < glob.length) {
      at += 1;
      out += escapeRegExp(glob[at] as string);
    } else out += escapeRegExp(character);
  }
  return out + ")".repeat(depth);
}

/**
 * Returns the position of the bracket that closes a character class. A closing bracket directly at the start is
 * literal.
 */
function classEnd(glob: string, start: number): number {
  const negated = glob[start + 1] === "!" || glob[start + 1] === "^";
  return glob.indexOf("]", start + (negated ? 3 : 2));
}

function classOf(inner: string): string {
  return inner.startsWith("!") ? `[^${inner.slice(1)}]` : `[${inner}]`;
}

/** Escapes a text so that it matches literally. */
export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.[\]|()*+?{}]/g, "\\$&");
}
