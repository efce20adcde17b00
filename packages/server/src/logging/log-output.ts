import { isatty } from "node:tty";
import type { LogLine } from "@outrider/telemetry/telemetry";
import { type DestinationStream, pino } from "pino";
import { formatLogLine, paintFor } from "./human-format.ts";

export const logFormats = ["auto", "human", "json"] as const;
/** `auto` selects the human format on a terminal and JSON lines everywhere else. */
export type LogFormat = (typeof logFormats)[number];

const MAX_BUFFERED_BYTES = 1024 ** 2;
const WARN = 40;

export function resolveLogFormat(format: LogFormat): "human" | "json" {
  if (format !== "auto") return format;
  return isatty(process.stdout.fd) ? "human" : "json";
}

export interface LogOutput extends DestinationStream {
  /** Shows lines of every level from now on. Has no effect unless the output was opened with `isQuietAtStart`. */
  endQuietStart(): void;
  /** Passes every further line on, in addition to writing it. */
  exportTo(receive: (line: LogLine) => void): void;
}

/**
 * Opens standard output for log lines. A full disk must not end the process: lines are buffered until the disk has
 * space again, and dropped once a megabyte is buffered.
 *
 * With `isQuietAtStart`, the human format shows only warnings and errors until `endQuietStart` is called, so that the
 * startup banner comes first. JSON output is always complete.
 */
export function openLogOutput({
  format,
  isQuietAtStart = false,
  onDrop = () => {},
}: {
  format: LogFormat;
  isQuietAtStart?: boolean;
  onDrop?: () => void;
}): LogOutput {
  const output = pino.destination({ fd: process.stdout.fd, maxLength: MAX_BUFFERED_BYTES });
  output.on("error", () => {});
  output.on("drop", onDrop);
  // The default repeats until everything is written. On a full disk, the process would never exit.
  output.flushSync = () => void output.write("");
  let isQuiet = isQuietAtStart;
  const endQuietStart = () => {
    isQuiet = false;
  };
  let receive: ((line: LogLine) => void) | undefined;
  const exportTo = (receiver: (line: LogLine) => void) => {
    receive = receiver;
  };
  if (resolveLogFormat(format) === "json") {
    const write = (line: string) => {
      output.write(line);
      receive?.(JSON.parse(line));
    };
    return { write, endQuietStart, exportTo };
  }
  const paint = paintFor(process.stdout);
  return {
    write(line) {
      const entry = JSON.parse(line);
      if (!isQuiet || entry.level >= WARN) output.write(formatLogLine(entry, paint));
      receive?.(entry);
    },
    endQuietStart,
    exportTo,
  };
}
