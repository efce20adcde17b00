import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { UsageError } from "../exit-codes.ts";
import { describeSystemError } from "../terminal/system-errors.ts";

export function readFileOrFail(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${describeSystemError(error) ?? (error as Error).message}.`);
  }
}

export async function readStdin(): Promise<string> {
  return text(process.stdin);
}

/** Returns a file's content for `@path`, stdin for `-`, and any other text unchanged. */
export async function readText(given: string): Promise<string> {
  if (given === "-") return readStdin();
  if (!given.startsWith("@")) return given;
  return readFileOrFail(given.slice(1)).toString("utf8");
}

/** Reads a JSON document from a file, or from stdin for `-`. */
export async function readJson(source: string): Promise<unknown> {
  const json = source === "-" ? await readStdin() : readFileOrFail(source).toString("utf8");
  try {
    return JSON.parse(json);
  } catch (error) {
    const name = source === "-" ? "stdin" : source;
    throw new UsageError(`${name} is not valid JSON: ${(error as Error).message}.`);
  }
}

export async function readObject(source: string): Promise<Record<string, unknown>> {
  const value = await readJson(source);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${source === "-" ? "stdin" : source} must contain a JSON object.`);
  return value as Record<string, unknown>;
}
