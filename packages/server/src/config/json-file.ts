import { readFileSync } from "node:fs";
import { validate } from "@outrider/contract/errors/field-error";
import type { z } from "zod";

interface JsonFile<T extends z.ZodType> {
  path: string;
  schema: T;
  /** False if the file may be missing. */
  isRequired: boolean;
  /** A sentence that says how to set the path. */
  hint: string;
}

/**
 * Reads a configuration file of the operator. Returns undefined if it does not exist and is not required. Errors name
 * the file and the field.
 */
export function readJsonFile<T extends z.ZodType>(file: JsonFile<T>): z.infer<T> | undefined {
  const { path, schema, isRequired, hint } = file;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !isRequired) return undefined;
    throw new Error(`${path} cannot be read (${code}). ${hint}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message would quote the text, which may contain a key.
    throw new Error(`${path} is not valid JSON.`);
  }
  const result = validate(schema, json, "body");
  if ("data" in result) return result.data;
  const [{ pointer, message }] = result.errors;
  throw new Error(`${path}: ${pointer ? `\`${pointer}\`` : "the file"} ${message}.`);
}
