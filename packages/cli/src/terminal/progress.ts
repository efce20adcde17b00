import type { Progress } from "@outrider/server/engine/backup";

const EVERY_MS = 2_000;

const figures = new Intl.NumberFormat("en");

/** A line on stderr now and then, so that a long work is seen to go on. */
export function progressLines({ isQuiet }: { isQuiet: boolean }): (progress: Progress) => void {
  let told = Date.now();
  return ({ what, done, unit }) => {
    if (isQuiet || Date.now() - told < EVERY_MS) return;
    told = Date.now();
    process.stderr.write(`  ${unit === "files" ? "" : `${what}: `}${figures.format(done)} ${unit}\n`);
  };
}

export function megabytes(bytes: number): string {
  return `${figures.format(Math.ceil(bytes / 100_000) / 10)} MB`;
}

export function count(number: number, one: string, many: string): string {
  return `${figures.format(number)} ${number === 1 ? one : many}`;
}
