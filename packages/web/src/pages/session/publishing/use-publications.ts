import { useQuery } from "@tanstack/react-query";
import { queries } from "../../../queries.ts";
import { isActive } from "./publications.ts";

const ACTIVE_POLL_MS = 1_500;
const QUIET_POLL_MS = 30_000;

/** Loads what a run published and can publish. It is polled, because publications change without events. */
export function usePublications(runId: string, enabled = true) {
  return useQuery({
    ...queries.publications(runId),
    enabled,
    refetchInterval: ({ state: { data } }) =>
      data?.publications.some(isActive) ? ACTIVE_POLL_MS : QUIET_POLL_MS,
  });
}
