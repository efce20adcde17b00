/** Replaces NUL characters and lone surrogates. Commands and models produce them, but PostgreSQL cannot store them. */
export function toStorableText(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}
