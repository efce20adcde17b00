/** Readers for requests that may contain anything: they return an empty value instead of throwing. */
export type JsonObject = Record<string, unknown>;

export function objectOf(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(stringOf(text));
  } catch {
    return {};
  }
}

/** Returns the texts of content that is a string or a list of parts with a text. */
export function textsOf(content: unknown): string[] {
  if (typeof content === "string") return [content];
  return objectsOf(content).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
}
