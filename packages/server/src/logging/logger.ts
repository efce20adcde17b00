import { traceFields } from "@outrider/telemetry/spans";
import { type Logger, type LoggerOptions, pino } from "pino";
import type { Counters } from "../engine/operations/counters.ts";
import { type LogFormat, type LogOutput, openLogOutput } from "./log-output.ts";

/** Creates the server's logger. Log lines must never contain keys, secrets or prompts. */
export function createLogger(
  { logLevel, logFormat }: { logLevel: string; logFormat: LogFormat },
  counters: Counters,
): { log: Logger; output: LogOutput } {
  const output = openLogOutput({
    format: logFormat,
    // An operator who sets another level wants to see every line, including those from startup.
    isQuietAtStart: logLevel === "info",
    onDrop: () => counters.dropped++,
  });
  const options: LoggerOptions = {
    level: logLevel,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: describeError },
    mixin: traceFields,
    hooks: {
      logMethod(line, method, level) {
        counters.logged(level);
        method.apply(this, line);
      },
    },
  };
  return { log: pino(options, output), output };
}

/** Omits PostgreSQL error messages, which can quote a row. Logs only the code and the table and constraint names. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack = "" } = error;
  const { code, table_name, constraint_name } = error as {
    code?: string;
    table_name?: string;
    constraint_name?: string;
  };
  const frames = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
  return name === "PostgresError"
    ? { name, code, table_name, constraint_name, frames }
    : { name, message, code, frames };
}
