import type { Brake, BrakeRequest } from "@outrider/sdk";

/** What the page offers. The API can also pause the queue alone, which is shown, and is not among these. */
export type Stop = "intake" | "queue" | "read_only";

interface StopWords {
  stop: Stop;
  /** What pressing the button does. */
  action: string;
  /** What happens then. */
  says: string;
  done: string;
}

export const stops: readonly StopWords[] = [
  {
    stop: "intake",
    action: "Pause new runs",
    says: "New runs, follow-ups that would begin a turn, and attachments are refused. Runs that wait are still worked on, and words to a run that waits or works are taken.",
    done: "New runs are paused",
  },
  {
    stop: "queue",
    action: "Pause new runs and the queue",
    says: "Also, workers are given nothing: no run that waits, no build, nothing that a lost worker left. They finish what they have. The time counts as waiting.",
    done: "New runs and the queue are paused",
  },
  {
    stop: "read_only",
    action: "Make it read-only",
    says: "Everything that would change anything is refused, but for this page, draining workers, and signing in and out. Workers finish what they have, nothing else is begun, and retention rests.",
    done: "Outrider is read-only",
  },
];

export function wordsFor(stop: Stop): StopWords {
  return stops.find((each) => each.stop === stop) as StopWords;
}

export function isOn({ mode, intake, queue }: Pick<Brake, "mode" | "intake" | "queue">): boolean {
  return mode !== "normal" || intake !== "open" || queue !== "open";
}

export function stopOf({ mode, intake, queue }: Brake): Stop | undefined {
  if (mode === "read_only") return "read_only";
  if (intake === "open") return undefined;
  return queue === "paused" ? "queue" : "intake";
}

export function requestOf(stop: Stop, message: string): BrakeRequest {
  const words = message.trim();
  return {
    ...(stop === "read_only" ? { mode: "read_only" } : { intake: "paused" }),
    ...(stop === "queue" ? { queue: "paused" } : {}),
    ...(words ? { message: words } : {}),
  };
}
