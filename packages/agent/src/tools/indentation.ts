/**
 * Indents a new text like the file although the model used another indentation in the old text. Pairs of matching lines
 * show which indentation in the file corresponds to which one of the model.
 */
export function adjustIndentation(text: string, { wrong, right }: { wrong: string; right: string }): string {
  const rightLines = right.split("\n");
  const pairs = new Map<string, string>();
  for (const [index, line] of wrong.split("\n").entries()) {
    if (line.trim() !== "" && !pairs.has(indentOf(line)))
      pairs.set(indentOf(line), indentOf(rightLines[index] ?? ""));
  }
  const translations = new Map<string, string>();
  const translateOnce = (indent: string) => {
    const translated = translations.get(indent) ?? translate(indent, pairs);
    translations.set(indent, translated);
    return translated;
  };
  return text
    .split("\n")
    .map((line) =>
      line.trim() === "" ? line : translateOnce(indentOf(line)) + line.slice(indentOf(line).length),
    )
    .join("\n");
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function translate(indent: string, pairs: Map<string, string>): string {
  const known = pairs.get(indent);
  if (known !== undefined) return known;
  // The deepest known level that contains the line, plus the rest in the file's units.
  const outer = [...pairs.keys()]
    .filter((wrong) => indent.startsWith(wrong))
    .sort((a, b) => b.length - a.length)[0];
  if (outer !== undefined) return pairs.get(outer) + convertUnits(indent.slice(outer.length), pairs);
  const [[wrong, right] = ["", ""]] = pairs;
  if (right.endsWith(wrong)) return right.slice(0, right.length - wrong.length) + indent;
  if (wrong.endsWith(right)) return indent.slice(wrong.length - right.length);
  return convertUnits(indent, pairs);
}

/** Converts spaces to tabs or tabs to spaces if the pairs show that the file uses the other. */
function convertUnits(indent: string, pairs: Map<string, string>): string {
  for (const [wrong, right] of pairs) {
    if (/^ +$/.test(wrong) && /^\t+$/.test(right)) {
      const width = Math.max(1, Math.round(wrong.length / right.length));
      return "\t".repeat(Math.floor(indent.length / width)) + " ".repeat(indent.length % width);
    }
    if (/^\t+$/.test(wrong) && /^ +$/.test(right)) {
      const width = Math.max(1, Math.round(right.length / wrong.length));
      return indent.replaceAll("\t", " ".repeat(width));
    }
  }
  return indent;
}
