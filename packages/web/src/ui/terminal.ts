import Anser from "anser";
import { visible } from "./visible.ts";

/** A piece of a line in one look. */
export interface Piece {
  text: string;
  look: string;
}

/** Every pattern stops where another sequence could begin, so that hostile text costs no more time than other text. */
const UNHEARD = new RegExp(
  [
    // Cursor, erasing, modes: every CSI but colours.
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-ln-~]",
    // OSC, DCS, SOS, PM, APC up to their end: titles, links, clipboard.
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    // Everything short: character sets, reset.
    "\\x1b[ -/]*[0-OQ-WYZ\\\\`-~]",
  ].join("|"),
  "g",
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const COLOUR = /\x1b\[[\d;:]*m/g;

/** What a terminal would show in the end, line by line; colours are still in it. */
export function terminalLines(text: string): string[] {
  const lines = text.replace(UNHEARD, "").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map(lastWritten);
}

/** A carriage return writes over the line; of progress bars only the last is of interest. */
function lastWritten(line: string): string {
  const whole = line.replace(/\r+$/, "");
  if (!whole.includes("\r") && !whole.includes("\b")) return whole;
  const begin = whole.lastIndexOf("\r") + 1;
  const colours = (whole.slice(0, begin).slice(-2_000).match(COLOUR) ?? []).slice(-8).join("");
  // Letters struck over each other are how manuals write bold.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  return colours + whole.slice(begin).replace(/[^\b]\x08/g, "");
}

export function withoutColours(line: string): string {
  return visible(line.replace(COLOUR, ""));
}

/** The same lines as pieces that React can draw. */
export function paint(lines: readonly string[]): Piece[][] {
  const painted: Piece[][] = [[]];
  for (const entry of Anser.ansiToJson(lines.join("\n"), { use_classes: true, remove_empty: true })) {
    const look = lookOf(entry);
    for (const [index, text] of entry.content.split("\n").entries()) {
      if (index > 0) painted.push([]);
      if (text !== "") painted.at(-1)?.push({ text: visible(text), look });
    }
  }
  return painted;
}

const inks: Record<string, string> = {
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-live",
  magenta: "text-accent-ink",
  cyan: "text-teal",
  black: "text-muted",
  white: "text-ink",
};
const grounds: Record<string, string> = {
  red: "bg-bad-soft",
  green: "bg-good-soft",
  yellow: "bg-warn-soft",
  blue: "bg-live-soft",
  magenta: "bg-accent-soft",
};

/** Colours by their name in our own shades: those a program chose for a black screen may not be readable here. */
function lookOf({ fg, bg, fg_truecolor, bg_truecolor, decorations }: Anser.AnserJsonEntry): string {
  const ink = nameOf(fg, fg_truecolor);
  const ground = nameOf(bg, bg_truecolor);
  const isReversed = decorations.includes("reverse");
  return [
    ink && !isReversed ? inks[ink] : "",
    ground || isReversed ? (grounds[ground || ink] ?? "bg-raised") : "",
    decorations.includes("bold") ? "font-semibold" : "",
    decorations.includes("dim") || decorations.includes("hidden") ? "text-muted" : "",
    decorations.includes("italic") ? "italic" : "",
    decorations.includes("underline") ? "underline" : "",
    decorations.includes("strikethrough") ? "line-through" : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function nameOf(colour: string | null, rgb: string | null): string {
  if (!colour) return "";
  if (colour === "ansi-truecolor") return nearest((rgb ?? "").split(",").map(Number));
  const [, palette] = /^ansi-palette-(\d+)$/.exec(colour) ?? [];
  if (palette) return nearest(rgbOf(Number(palette)));
  return colour.replace(/^ansi-(bright-)?/, "");
}

/** The cube of 6 × 6 × 6 colours and the greys behind it. */
function rgbOf(palette: number): number[] {
  if (palette >= 232) return Array.from({ length: 3 }, () => 8 + (palette - 232) * 10);
  const cube = palette - 16;
  return [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => step * 51);
}

function nearest([r = 0, g = 0, b = 0]: number[]): string {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 40) return most > 160 ? "white" : "black";
  const turn =
    most === r
      ? (g - b) / (most - least)
      : most === g
        ? 2 + (b - r) / (most - least)
        : 4 + (r - g) / (most - least);
  const names = ["red", "yellow", "green", "cyan", "blue", "magenta"];
  return names[(Math.round(turn) + 6) % 6] as string;
}
