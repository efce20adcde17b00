import { isIP } from "node:net";
import { hostOf } from "./host.ts";

/**
 * A pattern of names: `example.com` is that name alone, `*.example.com` any name below it, however deep, and not
 * itself. Undefined where the text is neither.
 */
export function matcherOf(pattern: string): ((host: string) => boolean) | undefined {
  const isWild = pattern.startsWith("*.");
  const name = hostOf(isWild ? pattern.slice(2) : pattern);
  if (name === undefined) return undefined;
  if (!isWild) return (host) => host === name;
  // An address has no names below it, and is not below any.
  if (isIP(name)) return undefined;
  return (host) => !isIP(host) && host.endsWith(`.${name}`);
}
