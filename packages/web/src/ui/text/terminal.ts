import Anser from "anser";
import { sanitize } from "./sanitize.ts";

/** A part of a line with one style. */
export interface TextSpan {
  text: string;
  className: string;
}

/**
 * The escape sequences that are dropped. Each pattern stops where another sequence could start, so that matching takes
 * linear time.
 */
const IGNORED_SEQUENCES = new RegExp(
  [
    // CSI sequences except colors: cursor movement, erasing, modes.
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-ln-~]",
    // OSC, DCS, SOS, PM and APC strings: titles, links, clipboard.
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    // Short sequences: character sets, reset.
    "\\x1b[ -/]*[0-OQ-WYZ\\\\`-~]",
  ].join("|"),
  "g",
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const COLOR_SEQUENCE = /\x1b\[[\d;:]*m/g;

/** Returns the lines that a terminal would show in the end, with their color sequences. */
export function terminalLines(text: string): string[] {
  const lines = text.replace(IGNORED_SEQUENCES, "").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map(applyOverwrites);
}

/** Applies carriage returns, which overwrite the line. Only a progress bar's last state remains. */
function applyOverwrites(line: string): string {
  const whole = line.replace(/\r+$/, "");
  if (!whole.includes("\r") && !whole.includes("\b")) return whole;
  const begin = whole.lastIndexOf("\r") + 1;
  const colors = (whole.slice(0, begin).slice(-2_000).match(COLOR_SEQUENCE) ?? []).slice(-8).join("");
  // Man pages produce bold text by overstriking characters with a backspace.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  return colors + whole.slice(begin).replace(/[^\b]\x08/g, "");
}

export function stripColors(line: string): string {
  return sanitize(line.replace(COLOR_SEQUENCE, ""));
}

/** Splits lines into styled spans. */
export function styleLines(lines: readonly string[]): TextSpan[][] {
  const styled: TextSpan[][] = [[]];
  for (const entry of Anser.ansiToJson(lines.join("\n"), { use_classes: true, remove_empty: true })) {
    const className = classNameOf(entry);
    for (const [index, text] of entry.content.split("\n").entries()) {
      if (index > 0) styled.push([]);
      if (text !== "") styled.at(-1)?.push({ text: sanitize(text), className });
    }
  }
  return styled;
}

const foregrounds: Record<string, string> = {
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-live",
  magenta: "text-accent-ink",
  cyan: "text-teal",
  black: "text-muted",
  white: "text-ink",
};
const backgrounds: Record<string, string> = {
  red: "bg-bad-soft",
  green: "bg-good-soft",
  yellow: "bg-warn-soft",
  blue: "bg-live-soft",
  magenta: "bg-accent-soft",
};

/** Maps ANSI colors to theme colors, because a program's own colors may be unreadable on our background. */
function classNameOf({ fg, bg, fg_truecolor, bg_truecolor, decorations }: Anser.AnserJsonEntry): string {
  const foreground = nameOf(fg, fg_truecolor);
  const background = nameOf(bg, bg_truecolor);
  const isReversed = decorations.includes("reverse");
  return [
    foreground && !isReversed ? foregrounds[foreground] : "",
    background || isReversed ? (backgrounds[background || foreground] ?? "bg-raised") : "",
    decorations.includes("bold") ? "font-semibold" : "",
    decorations.includes("dim") || decorations.includes("hidden") ? "text-muted" : "",
    decorations.includes("italic") ? "italic" : "",
    decorations.includes("underline") ? "underline" : "",
    decorations.includes("strikethrough") ? "line-through" : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function nameOf(color: string | null, rgb: string | null): string {
  if (!color) return "";
  if (color === "ansi-truecolor") return nearest((rgb ?? "").split(",").map(Number));
  const [, palette] = /^ansi-palette-(\d+)$/.exec(color) ?? [];
  if (palette) return nearest(rgbOf(Number(palette)));
  return color.replace(/^ansi-(bright-)?/, "");
}

/** Converts an index in the 256-color palette, which is a 6 × 6 × 6 cube followed by grays. */
function rgbOf(palette: number): number[] {
  if (palette >= 232) return Array.from({ length: 3 }, () => 8 + (palette - 232) * 10);
  const cube = palette - 16;
  return [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => step * 51);
}

function nearest([r = 0, g = 0, b = 0]: number[]): string {
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  if (max - min < 40) return max > 160 ? "white" : "black";
  const hue =
    max === r ? (g - b) / (max - min) : max === g ? 2 + (b - r) / (max - min) : 4 + (r - g) / (max - min);
  const names = ["red", "yellow", "green", "cyan", "blue", "magenta"];
  return names[(Math.round(hue) + 6) % 6] as string;
}
