import { pino } from "pino";

const HELD_BYTES = 1024 ** 2;

/**
 * Where log lines go. A disk that is full for them must not end the process: lines wait until there is room again, and
 * those that come when a megabyte waits are dropped.
 */
export function logOutput() {
  const output = pino.destination({ fd: process.stdout.fd, maxLength: HELD_BYTES });
  output.on("error", () => {});
  return output;
}
