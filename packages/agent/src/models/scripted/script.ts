import { ASK } from "../../tools/ask.ts";
import { RUN_COMMAND } from "../../tools/run-command.ts";
import { WRITE_FILE } from "../../tools/write-file.ts";

export type ScriptStep =
  | { type: "call"; tool: string; input: object }
  | { type: "say"; text: string }
  | { type: "sleep"; ms: number }
  | { type: "fail"; message: string };

/** The maximum delay of a JavaScript timer. */
const MAX_SLEEP_MS = 2 ** 31 - 1;

const parsers: Record<string, (rest: string) => ScriptStep | undefined> = {
  RUN: (command) => (command === "" ? undefined : { type: "call", tool: RUN_COMMAND, input: { command } }),
  WRITE: (rest) => {
    const bar = rest.indexOf("|");
    const path = rest.slice(0, Math.max(bar, 0)).trimEnd();
    if (path === "") return undefined;
    const text = decodeEscapes(rest.slice(bar + 1).replace(/^\s/, ""));
    return { type: "call", tool: WRITE_FILE, input: { path, text } };
  },
  SAY: (text) => (text === "" ? undefined : { type: "say", text }),
  CALL: (rest) => {
    const [, tool, json = "{}"] = /^(\S+)\s*(\S.*)?$/s.exec(rest) ?? [];
    const input = parseObject(json);
    return tool && input ? { type: "call", tool, input } : undefined;
  },
  SLEEP: (rest) => {
    const ms = /^\d+$/.test(rest) ? Number(rest) : Number.NaN;
    return ms <= MAX_SLEEP_MS ? { type: "sleep", ms } : undefined;
  },
  ASK: (question) => (question === "" ? undefined : { type: "call", tool: ASK, input: { question } }),
  FAIL: (message) => ({ type: "fail", message: message || "The script failed with FAIL." }),
};

/**
 * Parses a script's steps. Lines without a keyword are ignored; an invalid step becomes a message that describes the
 * problem.
 */
export function parseScript(text: string): ScriptStep[] {
  return text.split(/\r?\n/).flatMap((line) => {
    // Trimming first avoids quadratic backtracking on long sequences of spaces.
    const [, keyword = "", rest = ""] = /^([A-Z]+):(.*)$/s.exec(line.trim()) ?? [];
    const parse = Object.hasOwn(parsers, keyword) ? parsers[keyword] : undefined;
    if (!parse) return [];
    return [parse(rest.trim()) ?? { type: "say", text: `Invalid script line: ${line.trim()}` }];
  });
}

const escapes: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** Resolves JSON string escapes. Any other backslash is literal. */
function decodeEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (whole, hex: string | undefined, letter = "") =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (escapes[letter] ?? whole),
  );
}

function parseObject(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
