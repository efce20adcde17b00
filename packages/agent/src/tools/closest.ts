import { distance } from "@outrider/contract/distance";

/** Longer lines and files are compared in part: this is help, not proof. */
const COMPARED_CHARACTERS = 120;
const COMPARED_LINES = 20_000;
const LIKENED_LINES = 5_000;
const SHOWN_LINES = 30;

/** Why an old text does not stand in a file, and what stands there that comes nearest. */
export function whyNotFound(
  oldText: string,
  { text, redacted }: { text: string; redacted(text: string): string },
): string {
  const wanted = linesOf(oldText);
  const lines = linesOf(text);
  if (wanted.every((line) => /^\s*\d+\t/.test(line))) {
    return "old_text does not stand in the file: leave out the line numbers and the tab behind them.";
  }
  const hint = oldText.includes("***")
    ? " Where read_file shows ***, a secret is masked: edit around it."
    : "";
  const show = (from: number) => {
    const passage = lines.slice(from, from + Math.min(wanted.length, SHOWN_LINES));
    return numbered(redacted(passage.join("\n")).split("\n"), from);
  };
  const squeezed = wanted.map(squeeze);
  const spaced = windows(lines, wanted.length).find((at) =>
    squeezed.every((line, index) => line === squeeze(lines[at + index] ?? "")),
  );
  if (spaced !== undefined) {
    const passage = lines.slice(spaced, spaced + wanted.length);
    const what = difference(wanted, passage);
    return `old_text stands in the file only with other whitespace${what}:\n${show(spaced)}`;
  }
  const near = closest(squeezed, lines);
  if (near === undefined) return `old_text does not stand in the file, nor anything like it.${hint}`;
  return `old_text does not stand in the file.${hint} What comes nearest:\n${show(near)}`;
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function squeeze(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function windows(lines: string[], size: number): number[] {
  const count = Math.min(lines.length - size + 1, COMPARED_LINES);
  return Array.from({ length: Math.max(0, count) }, (_, at) => at);
}

function difference(wanted: string[], passage: string[]): string {
  const differing = wanted.findIndex((line, index) => line !== passage[index]);
  const [ours = "", theirs = ""] = [wanted[differing], passage[differing]];
  const indent = (line: string) => /^\s*/.exec(line)?.[0] ?? "";
  if (ours.replace(/\r$/, "") === theirs.replace(/\r$/, "")) return " (its lines end with CR LF)";
  if (ours.trimEnd() === theirs.trimEnd()) return ` (line ${differing + 1} of it differs at its end)`;
  if (indent(ours) === indent(theirs)) return ` (line ${differing + 1} of it differs within)`;
  return ` (line ${differing + 1} of it is indented by ${named(indent(theirs))}, not by ${named(indent(ours))})`;
}

function named(indent: string): string {
  const tabs = indent.split("\t").length - 1;
  const spaces = indent.length - tabs;
  const parts = [tabs > 0 ? `${tabs} tabs` : "", spaces > 0 ? `${spaces} spaces` : ""].filter(Boolean);
  return parts.join(" and ") || "nothing";
}

/** Where most lines of the wanted text stand in its order; failing that, the line most like its first one. */
function closest(wanted: string[], lines: string[]): number | undefined {
  const squeezed = lines.slice(0, COMPARED_LINES).map(squeeze);
  const places = new Map<string, number[]>();
  for (const [at, line] of squeezed.entries()) {
    if (line.length > 2) places.set(line, [...(places.get(line) ?? []), at].slice(0, 50));
  }
  const votes = new Map<number, number>();
  for (const [index, line] of wanted.entries()) {
    for (const at of places.get(line) ?? []) {
      const start = Math.max(0, at - index);
      votes.set(start, (votes.get(start) ?? 0) + 1);
    }
  }
  const best = [...votes].sort(([a, many], [b, more]) => more - many || a - b)[0];
  if (best) return best[0];
  const first = (wanted.find((line) => line !== "") ?? "").slice(0, COMPARED_CHARACTERS);
  let [place, least] = [-1, first.length / 2];
  for (const [at, line] of squeezed.slice(0, LIKENED_LINES).entries()) {
    const other = line.slice(0, COMPARED_CHARACTERS);
    if (Math.abs(other.length - first.length) >= least) continue;
    const steps = distance(first, other);
    if (steps < least) [place, least] = [at, steps];
  }
  return place === -1 ? undefined : place;
}

function numbered(lines: string[], from: number): string {
  return lines.map((line, index) => `${from + index + 1}\t${line.slice(0, 500)}`).join("\n");
}
