import { APIStatusError } from "@outrider/sdk";

/** What is wrong with which member of a request, by its JSON pointer. */
export type Faults = Readonly<Record<string, string>>;

export function faultsOf(error: unknown): Faults {
  const errors = error instanceof APIStatusError ? (error.errors ?? []) : [];
  return Object.fromEntries(errors.map(({ pointer, message }) => [pointer, sentence(message)]));
}

/** The API's words follow a member's name; under a field they stand alone. */
function sentence(message: string): string {
  const words = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** The first of these members that is at fault. */
export function faultAt(faults: Faults, ...pointers: string[]): string | undefined {
  return pointers.map((pointer) => faults[pointer]).find(Boolean);
}
