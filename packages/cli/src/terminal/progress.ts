import type { Progress } from "@outrider/server/engine/operations/backup";

const INTERVAL_MS = 2_000;

const numberFormat = new Intl.NumberFormat("en");

/** Returns a callback that reports progress on stderr every few seconds. */
export function createProgressReporter({ isQuiet }: { isQuiet: boolean }): (progress: Progress) => void {
  let lastReport = Date.now();
  return ({ what, done, unit }) => {
    if (isQuiet || Date.now() - lastReport < INTERVAL_MS) return;
    lastReport = Date.now();
    process.stderr.write(`  ${unit === "files" ? "" : `${what}: `}${numberFormat.format(done)} ${unit}\n`);
  };
}

export function megabytes(bytes: number): string {
  return `${numberFormat.format(Math.ceil(bytes / 100_000) / 10)} MB`;
}

export function count(number: number, singular: string, plural: string): string {
  return `${numberFormat.format(number)} ${number === 1 ? singular : plural}`;
}
