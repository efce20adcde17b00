import { APIConnectionError, APIStatusError, APITimeoutError } from "@outrider/sdk";

export interface ErrorText {
  title: string;
  detail: string;
  /** Only set for errors of the server itself, which its operator can look up. */
  traceId?: string;
  /** Set if the user must sign in again before anything else works. */
  isSignedOut?: boolean;
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
    // The server's own sentence tells programs which header to send.
    if (status === 401) return { title: titles[401], detail: sessionEnded, isSignedOut: true };
    const isServerError = status >= 500 && status !== 503;
    return {
      title: titles[status] ?? (status >= 500 ? titles[500] : titles[400]),
      detail: describeDetail(error),
      ...(traceId && isServerError ? { traceId } : {}),
    };
  }
  return {
    title: "Something went wrong on this page",
    // The messages of other classes, such as TypeError, are written for programmers.
    detail:
      error instanceof Error && error.constructor === Error
        ? error.message
        : "Reload the page and try again. If it happens again, report it to your admin.",
  };
}

export const sessionEnded = "Your session has ended. Sign in again to continue.";

const titles = {
  400: "The server did not accept this request",
  401: "You are signed out",
  403: "You don't have permission to do this",
  404: "Not found",
  409: "This action is not possible right now",
  413: "This is too large to send",
  422: "This server cannot do this",
  429: "Too many requests",
  500: "Something went wrong on the server",
  503: "Temporarily unavailable",
} as Record<number, string> & Record<400 | 401 | 500, string>;

/** Sentences of the API for programs, which do not help people. */
const plainSentences: readonly [RegExp, string][] = [
  [/^This requires an admin\.$/, "Only an admin can do this. Ask one to do it, or to make you an admin."],
  [
    /^Cross-site request rejected/,
    "This page was opened at an address that the server does not know. Open the server's own address and try again.",
  ],
  [/^Route not found\.$/, "This server does not have this function. Reload the page to get its version."],
  [/^An unexpected error occurred\.$/, "Try again. If it happens again, give your admin the trace ID."],
];

/** Returns the server's explanation as sentences. Backticks mark code. */
export function describeDetail({ body, status, headers }: APIStatusError): string {
  if (typeof body === "string") return "The server returned an unexpected response. Try again in a moment.";
  const { detail, message, errors = [] } = body;
  // The detail repeats the first of these errors with its JSON pointer.
  if (errors.length > 0) return errors.map((each) => `${nameOf(each.pointer)} ${each.message}.`).join(" ");
  const sentence = detail ?? message ?? "Try again in a moment.";
  const plain = plainSentences.find(([pattern]) => pattern.test(sentence))?.[1] ?? sentence;
  if (status !== 429) return plain;
  return [plain.replace(/ Retry in \d+ s\.$/, ""), describeWait(headers)].filter(Boolean).join(" ");
}

function nameOf(pointer: string): string {
  const name = pointer.replace(/^\//, "").replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");
  return name ? `\`${name}\`` : "The request";
}

function describeWait(headers: Headers): string | undefined {
  const seconds = Number(headers.get("retry-after"));
  if (!seconds) return undefined;
  const minutes = Math.ceil(seconds / 60);
  if (seconds < 60) return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
  return `Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`;
}
