import { APIConnectionError, APIStatusError, APITimeoutError } from "@outrider/sdk";

export interface Words {
  title: string;
  detail: string;
  traceId?: string;
}

/** An error in words a reader can act on. The API's own sentences say the remedy; the rest is ours. */
export function wordsOf(error: unknown): Words {
  if (error instanceof APITimeoutError) {
    return { title: "The server did not answer in time", detail: "It may be busy. Try again in a moment." };
  }
  if (error instanceof APIConnectionError) {
    return {
      title: "The server cannot be reached",
      detail: "Check that Outrider runs and that you are online.",
    };
  }
  if (error instanceof APIStatusError) {
    const { message, traceId } = error;
    return { title: titleOf(error.status), detail: message, ...(traceId ? { traceId } : {}) };
  }
  return { title: "This page met an error", detail: error instanceof Error ? error.message : String(error) };
}

function titleOf(status: number): string {
  if (status === 401) return "You are signed out";
  if (status === 403) return "You may not do this";
  if (status === 404) return "Not found";
  if (status === 409) return "That is not possible now";
  if (status === 429) return "Too many requests";
  if (status === 503) return "That cannot be done right now";
  return status >= 500 ? "The server met an error" : "The request was refused";
}
