/**
 * A glob as an extended regular expression that fits the whole of a path. One without a slash fits names in any
 * folder. `**` goes through folders, `*` and `?` do not.
 */
export function globExpression(glob: string): string {
  const pattern = glob.replace(/^\.\//, "").replace(/^\/+/, "");
  return (glob.includes("/") ? "" : "(.*/)?") + translate(pattern);
}

function translate(glob: string): string {
  let out = "";
  let depth = 0;
  for (let at = 0; at < glob.length; at++) {
    const letter = glob[at] as string;
    if (glob.startsWith("**/", at) && (at === 0 || glob[at - 1] === "/")) {
      out += "(.*/)?";
      at += 2;
    } else if (glob.startsWith("**", at)) {
      out += ".*";
      at += 1;
    } else if (letter === "*") out += "[^/]*";
    else if (letter === "?") out += "[^/]";
    else if (letter === "[") {
      const end = classEnd(glob, at);
      out += end === -1 ? "\\[" : classOf(glob.slice(at + 1, end));
      if (end !== -1) at = end;
    } else if (letter === "{" && glob.indexOf("}", at) !== -1) {
      out += "(";
      depth += 1;
    } else if (letter === "}" && depth > 0) {
      out += ")";
      depth -= 1;
    } else if (letter === "," && depth > 0) out += "|";
    else if (letter === "\\" && at + 1 < glob.length) {
      at += 1;
      out += escaped(glob[at] as string);
    } else out += escaped(letter);
  }
  return out + ")".repeat(depth);
}

/** A bracket right at the beginning stands for itself. */
function classEnd(glob: string, start: number): number {
  const negated = glob[start + 1] === "!" || glob[start + 1] === "^";
  return glob.indexOf("]", start + (negated ? 3 : 2));
}

function classOf(inner: string): string {
  return inner.startsWith("!") ? `[^${inner.slice(1)}]` : `[${inner}]`;
}

/** One that stands for itself, whatever it is. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.[\]|()*+?{}]/g, "\\$&");
}
