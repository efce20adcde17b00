/**
 * The source of a provider's key:
 * - `literal`: written in the models file. The server stores it encrypted; an empty string deletes the stored key.
 * - `outside`: read from an environment variable or a file.
 * - `missing`: the named variable or file does not exist.
 * - `credentials`: not needed, because the provider has other credentials.
 * - `stored`: not configured, so the server uses the key it stored earlier.
 *
 * `reason` says why there is no key and how to set one. `publicReason` says the same without paths of this machine.
 */
export type KeySetting =
  | { from: "literal"; value: string }
  | { from: "outside"; name: string; value: string }
  | { from: "credentials" }
  | { from: "missing"; reason: string; publicReason: string }
  | { from: "stored"; reason: string; publicReason: string };

/** What the readers of a provider's settings share. */
export interface ReadContext {
  path: string;
  variable(name: string): string | undefined;
  invalid(field: string, message: string): Error;
}
