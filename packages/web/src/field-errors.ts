import { APIStatusError } from "@outrider/sdk";

/** Returns the server's error for a request field, phrased to follow the field's name, such as "must be a number". */
export function fieldErrorOf(error: unknown, pointer: string): string | undefined {
  const errors = (error instanceof APIStatusError && error.errors) || [];
  return errors.find((each) => each.pointer === pointer)?.message;
}
