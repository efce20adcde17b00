import { ASK } from "../tools/ask.ts";
import { RUN_COMMAND } from "../tools/run.ts";
import { WRITE_FILE } from "../tools/write.ts";

export type ScriptStep =
  | { type: "call"; tool: string; input: object }
  | { type: "say"; text: string }
  | { type: "sleep"; ms: number }
  | { type: "fail"; message: string };

/** The longest wait that a timer can hold. */
const MAX_SLEEP_MS = 2 ** 31 - 1;

const readers: Record<string, (rest: string) => ScriptStep | undefined> = {
  RUN: (command) => (command === "" ? undefined : { type: "call", tool: RUN_COMMAND, input: { command } }),
  WRITE: (rest) => {
    const bar = rest.indexOf("|");
    const path = rest.slice(0, Math.max(bar, 0)).trimEnd();
    if (path === "") return undefined;
    const text = unescaped(rest.slice(bar + 1).replace(/^\s/, ""));
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
  FAIL: (message) => ({ type: "fail", message: message || "The script said FAIL." }),
};

/** The steps of a script. Lines that begin otherwise are for people; one that cannot be read becomes words about it. */
export function parseScript(text: string): ScriptStep[] {
  return text.split(/\r?\n/).flatMap((line) => {
    // Blanks are cut off beforehand: an expression that has to find where they end goes over them again and again.
    const [, keyword = "", rest = ""] = /^([A-Z]+):(.*)$/s.exec(line.trim()) ?? [];
    const read = Object.hasOwn(readers, keyword) ? readers[keyword] : undefined;
    if (!read) return [];
    return [
      read(rest.trim()) ?? { type: "say", text: `I cannot read this line of the script: ${line.trim()}` },
    ];
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

/** Escapes as in JSON strings; a backslash before anything else is a backslash. */
function unescaped(text: string): string {
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
