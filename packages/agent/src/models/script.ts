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
    const [, path, text] = /^(.*?)\s*\|\s?(.*)$/.exec(rest) ?? [];
    if (!path || text === undefined) return undefined;
    return { type: "call", tool: WRITE_FILE, input: { path, text: unescaped(text) } };
  },
  SAY: (text) => (text === "" ? undefined : { type: "say", text }),
  CALL: (rest) => {
    const [, tool, json = "{}"] = /^(\S+)\s*(\S.*)?$/.exec(rest) ?? [];
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
    const [, keyword = "", rest = ""] = /^\s*([A-Z]+):\s*(.*?)\s*$/.exec(line) ?? [];
    const read = Object.hasOwn(readers, keyword) ? readers[keyword] : undefined;
    if (!read) return [];
    return [read(rest) ?? { type: "say", text: `I cannot read this line of the script: ${line.trim()}` }];
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
