import { styleText } from "node:util";

/**
 * Formats one pino log entry for reading on a terminal:
 *
 *     14:03:27 INFO  request completed  operation=createRun status=201 ms=12.3
 *
 * The `worker` field becomes a prefix of the message. Routine lines omit IDs that only matter after a failure; warnings
 * and errors show every field. Values can contain text from clients and agents. Control characters and invisible
 * characters are therefore escaped, so that a value cannot move the cursor or start a second line.
 */

type Style = "dim" | "green" | "cyan" | "yellow" | "red" | "bold";
export type Paint = (style: Style, text: string) => string;

export interface LogEntry {
  level: number;
  time: string;
  msg?: string;
  worker?: string;
  error?: unknown;
  [field: string]: unknown;
}

const WARN = 40;
const levels: [min: number, name: string, style: Style][] = [
  [50, "ERROR", "red"],
  [WARN, "WARN", "yellow"],
  [30, "INFO", "green"],
  [20, "DEBUG", "cyan"],
  [0, "TRACE", "dim"],
];

const hiddenAlways = new Set(["level", "time", "msg", "pid", "worker", "error"]);
const hiddenWhenRoutine = new Set(["trace_id", "span_id", "key_id", "session_id", "worker_id", "address"]);

/** Colors text if the stream supports it. Respects NO_COLOR, FORCE_COLOR and TERM=dumb. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (style, text) => styleText(style, text, { stream });
}

export function formatLogLine(entry: LogEntry, paint: Paint): string {
  const [, name, style] = levels.find(([min]) => entry.level >= min) as (typeof levels)[number];
  const isRoutine = entry.level < WARN && !(Number(entry.status) >= 400);
  const fields = Object.entries(entry)
    .filter(([field]) => !hiddenAlways.has(field) && !(isRoutine && hiddenWhenRoutine.has(field)))
    .map(([field, value]) => `${paint("dim", `${escapeControls(field)}=`)}${formatValue(value)}`);
  const parts = [
    paint("dim", formatTime(entry.time)),
    paint(style, name.padEnd(5)),
    ...(entry.worker ? [paint("dim", `[${escapeControls(entry.worker)}]`)] : []),
    paint("bold", escapeControls(entry.msg ?? "")),
    ...(fields.length > 0 ? [` ${fields.join(" ")}`] : []),
  ];
  return `${parts.join(" ")}\n${formatError(entry.error, paint)}`;
}

function formatTime(time: string): string {
  return new Date(time).toTimeString().slice(0, 8);
}

function formatValue(value: unknown): string {
  const isPlainText = typeof value === "string" && /^[^\s"=]+$/.test(value);
  return escapeControls(isPlainText ? value : JSON.stringify(value));
}

/** Formats an error's name and message, followed by its stack frames, indented below the log line. */
function formatError(error: unknown, paint: Paint): string {
  if (typeof error !== "object" || error === null) return "";
  const { name, type, message, frames, stack, ...details } = error as Record<string, unknown>;
  const head = [name ?? type, message].filter(Boolean).map(String).join(": ");
  const rest = Object.entries(details).filter(([field]) => field !== "raw");
  const fields = rest.map(([field, value]) => `${escapeControls(field)}=${formatValue(value)}`);
  const trace = String(frames ?? stack ?? "").split("\n");
  const calls = trace
    .filter((line) => /^\s+at /.test(line))
    .map((line) => paint("dim", escapeControls(line.trim())));
  const lines = [[escapeControls(head), ...fields].filter(Boolean).join(" "), ...calls];
  return lines.map((line) => `         ${line}\n`).join("");
}

/** Escapes control characters, invisible characters and line separators. */
function escapeControls(text: string): string {
  return text.replace(
    /[\p{C}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}
