import { type Notice, REFUSED } from "./egress-session.ts";

/** More refusals do not help to find the cause. The transcript contains all of them. */
const MAX_LISTED = 3;

/** Collects refused connections, because they are often the cause of a failure. */
export class RefusalSummary {
  readonly #messages = new Set<string>();

  /** Remembers the notice if it is about a refused connection. */
  add({ code, message }: Notice): void {
    if (code === REFUSED) this.#messages.add(message);
  }

  /** Adds the refusals, if there were any, to the message of a failure. */
  appendTo(message: string): string {
    const all = [...this.#messages];
    if (all.length === 0) return message;
    const rest = all.length > MAX_LISTED ? ` ${all.length - MAX_LISTED} more hosts were refused.` : "";
    return `${message}\nThe network policy may be the cause: ${all.slice(0, MAX_LISTED).join(" ")}${rest}`;
  }
}
