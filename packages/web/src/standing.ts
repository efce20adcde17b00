import type { Installation } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "./queries.ts";
import { visibleLine } from "./ui/visible.ts";

/** Whether the service takes what somebody is about to ask of it, and if not, why. */
export interface Standing {
  takesRuns: boolean;
  takesWrites: boolean;
  /** What is stopped, in a sentence or two; absent while nothing is. */
  notice?: string;
  /** The operator's own words about it. */
  message?: string;
}

const open: Standing = { takesRuns: true, takesWrites: true };
/** Seconds pass before most people notice a change, and each look is a request. */
const LOOK_AGAIN_MS = 4_000;

export function standingOf({ brake, has_room }: Installation): Standing {
  const notice = noticeOf(brake, has_room);
  if (!notice) return open;
  const takesWrites = brake.mode === "normal";
  return {
    takesWrites,
    takesRuns: takesWrites && brake.intake === "open" && has_room,
    notice,
    ...(brake.message ? { message: visibleLine(brake.message) } : {}),
  };
}

function noticeOf({ mode, intake, queue }: Installation["brake"], hasRoom: boolean): string | undefined {
  if (mode === "read_only") return "Read-only: nothing can be started or changed now.";
  if (intake === "paused" && queue === "paused")
    return "New runs are paused, and those that wait are not worked on.";
  if (intake === "paused") return "New runs are paused. Those that wait are still worked on.";
  if (!hasRoom) return "New runs are not taken: a disk of the server is short of space.";
  return queue === "paused" ? "The queue is paused: new runs are taken, and wait." : undefined;
}

/** Until the server has answered, everything is taken: it says itself what is not. */
export function useStanding(): Standing {
  const { data = open } = useQuery({ ...queries.installation(), select: standingOf });
  return data;
}

/** For the one place that keeps it fresh, for all others on the page, while somebody looks. */
export function useFreshStanding(): Standing {
  const { data = open } = useQuery({
    ...queries.installation(),
    select: standingOf,
    refetchInterval: LOOK_AGAIN_MS,
  });
  return data;
}
