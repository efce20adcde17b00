import type { Installation } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "./queries.ts";
import { sanitizeLine } from "./ui/text/sanitize.ts";

/** Whether the service accepts new runs and changes, and the reason if it does not. */
export interface ServiceStatus {
  acceptsRuns: boolean;
  acceptsWrites: boolean;
  /** Describes the restrictions in a sentence or two. Absent in normal operation. */
  notice?: string;
  /** The operator's message. */
  message?: string;
}

const open: ServiceStatus = { acceptsRuns: true, acceptsWrites: true };
const POLL_MS = 4_000;

export function serviceStatusOf({ maintenance, has_free_space }: Installation): ServiceStatus {
  const notice = noticeOf(maintenance, has_free_space);
  if (!notice) return open;
  const acceptsWrites = maintenance.mode === "normal";
  return {
    acceptsWrites,
    acceptsRuns: acceptsWrites && maintenance.admission === "open" && has_free_space,
    notice,
    ...(maintenance.message ? { message: sanitizeLine(maintenance.message) } : {}),
  };
}

function noticeOf(
  { mode, admission, queue }: Installation["maintenance"],
  hasFreeSpace: boolean,
): string | undefined {
  if (mode === "read_only") return "Read-only mode: new runs and changes are disabled.";
  if (admission === "paused" && queue === "paused") return "New runs and the queue are paused.";
  if (admission === "paused") return "New runs are paused. Queued runs continue.";
  if (!hasFreeSpace) return "New runs are paused: the server is low on disk space.";
  return queue === "paused" ? "The queue is paused. New runs are accepted and wait." : undefined;
}

/** Returns the service status. Until the server has responded, the service is assumed to accept everything. */
export function useServiceStatus(): ServiceStatus {
  const { data = open } = useQuery({ ...queries.installation(), select: serviceStatusOf });
  return data;
}

/** Polls the service status. Only the banner uses this hook, which keeps the status current for the whole page. */
export function usePolledServiceStatus(): ServiceStatus {
  const { data = open } = useQuery({
    ...queries.installation(),
    select: serviceStatusOf,
    refetchInterval: POLL_MS,
  });
  return data;
}
