/**
 * The states and sources of runs, and constants for filtering and sorting lists of runs. This module does not import
 * zod, so that pages without a form load quickly.
 */

export const runStates = ["QUEUED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "CANCELLED"] as const;

export const unfinishedStates = ["QUEUED", "INPROGRESS", "BLOCKED"] as const;

export type FinalState = "SUCCEEDED" | "FAILED" | "CANCELLED";

export function isFinal(state: (typeof runStates)[number]): state is FinalState {
  return !unfinishedStates.some((each) => each === state);
}

export const runSources = ["WEB_APP", "CLI", "GITHUB_ACTION", "API"] as const;

/** The fields by which lists of runs can be sorted. */
export const runSorts = ["created_at", "updated_at", "title", "cost", "duration"] as const;

export const metadataKeyPattern = /^[A-Za-z0-9._-]{1,64}$/;
