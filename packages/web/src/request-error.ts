import { APIConnectionError, APIStatusError, APITimeoutError } from "@outrider/sdk";

export interface ErrorText {
  title: string;
  detail: string;
  /** Only set for errors of the server itself, which its operator can look up. */
  traceId?: string;
}

/**
 * Describes an error in sentences. The SDK's own messages contain status and error codes, which users should not see.
 */
export function describeError(error: unknown): ErrorText {
  if (error instanceof APITimeoutError) {
    return { title: "The server did not respond in time", detail: "It may be busy. Try again in a moment." };
  }
  if (error instanceof APIConnectionError) {
    return {
      title: "Could not reach the server",
      detail: "Check your connection and that the server is running.",
    };
  }
  if (error instanceof APIStatusError) {
    const { traceId, status } = error;
    const isServerError = status >= 500 && status !== 503;
    return {
      title: titleOf(status),
      detail: detailOf(error),
      ...(traceId && isServerError ? { traceId } : {}),
    };
  }
  return {
    title: "Something went wrong on this page",
    detail: error instanceof Error ? error.message : String(error),
  };
}

function titleOf(status: number): string {
  if (status === 401) return "You are signed out";
  if (status === 403) return "You don't have permission to do this";
  if (status === 404) return "Not found";
  if (status === 409) return "This action is not possible right now";
  if (status === 429) return "Too many requests";
  if (status === 503) return "Temporarily unavailable";
  return status >= 500 ? "Something went wrong on the server" : "Invalid request";
}

/** Sentences of the API for programs, which do not help people. */
const plainSentences: readonly [RegExp, string][] = [
  [/Authorization: Bearer|API key/, "Your session has ended. Sign in again to continue."],
  [/^This requires an admin\.$/, "Only an admin can do this. Ask one to do it, or to make you an admin."],
  [/^Route not found\.$/, "This server does not have this function. Load the page again to get its version."],
];

function detailOf({ body }: APIStatusError): string {
  if (typeof body === "string") return "The server returned an unexpected response. Try again in a moment.";
  const { detail, message, errors = [] } = body;
  const fields = errors.map((each) => `${each.pointer.slice(1).replaceAll("/", ".")} ${each.message}`);
  const sentence = detail ?? message ?? "Try again in a moment.";
  const plain = plainSentences.find(([pattern]) => pattern.test(sentence))?.[1] ?? sentence;
  return fields.length > 0 ? `${plain} (${fields.join("; ")})` : plain;
}
