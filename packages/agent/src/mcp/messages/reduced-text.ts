/** Shortens a text to a number of characters. */
export function truncateText(text: string, maxCharacters: number): string {
  return (text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1)}…`).toWellFormed();
}

/** Returns whether a JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
