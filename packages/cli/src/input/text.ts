import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { Complaint } from "../exit.ts";

export function readFileOrComplain(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Complaint(`${path} cannot be read: ${(error as Error).message}.`);
  }
}

export async function readStdin(): Promise<string> {
  return text(process.stdin);
}

/** Text as it was typed, `@path` for a file's, `-` for all of stdin. */
export async function readText(given: string): Promise<string> {
  if (given === "-") return readStdin();
  if (!given.startsWith("@")) return given;
  return readFileOrComplain(given.slice(1)).toString("utf8");
}

/** A JSON document from a file, or with `-` from stdin. */
export async function readJson(source: string): Promise<unknown> {
  const json = source === "-" ? await readStdin() : readFileOrComplain(source).toString("utf8");
  try {
    return JSON.parse(json);
  } catch (error) {
    const name = source === "-" ? "stdin" : source;
    throw new Complaint(`${name} is not JSON: ${(error as Error).message}.`);
  }
}

export async function readObject(source: string): Promise<Record<string, unknown>> {
  const value = await readJson(source);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Complaint(`${source === "-" ? "stdin" : source} must hold a JSON object.`);
  return value as Record<string, unknown>;
}
