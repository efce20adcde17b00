import type { Maintenance, MaintenanceRequest } from "@outrider/sdk";

/** The restrictions offered here. The API can also pause the queue alone, which the page shows but does not offer. */
export type Restriction = "admission" | "queue" | "read_only";

interface RestrictionOption {
  restriction: Restriction;
  /** The button's label. */
  action: string;
  /** Describes the restriction's effect. */
  description: string;
  done: string;
}

export const restrictions: readonly RestrictionOption[] = [
  {
    restriction: "admission",
    action: "Pause new runs",
    description:
      "Rejects new runs, follow-ups that would start a turn, and attachments. Queued runs continue, and messages to queued or active runs are accepted.",
    done: "New runs paused",
  },
  {
    restriction: "queue",
    action: "Pause new runs and the queue",
    description:
      "Also stops dispatching: workers get no queued runs, no builds and no runs from lost workers. They finish their current work. Paused time counts toward the queue timeout.",
    done: "New runs and queue paused",
  },
  {
    restriction: "read_only",
    action: "Enable read-only mode",
    description:
      "Rejects all changes, except changes on this page, draining workers, and signing in or out. Workers finish their current work, nothing else starts, and retention is paused.",
    done: "Read-only mode enabled",
  },
];

export function optionFor(restriction: Restriction): RestrictionOption {
  return restrictions.find((each) => each.restriction === restriction) as RestrictionOption;
}

export function hasRestrictions({
  mode,
  admission,
  queue,
}: Pick<Maintenance, "mode" | "admission" | "queue">): boolean {
  return mode !== "normal" || admission !== "open" || queue !== "open";
}

export function restrictionOf({ mode, admission, queue }: Maintenance): Restriction | undefined {
  if (mode === "read_only") return "read_only";
  if (admission === "open") return undefined;
  return queue === "paused" ? "queue" : "admission";
}

export function requestOf(restriction: Restriction, message: string): MaintenanceRequest {
  const text = message.trim();
  return {
    ...(restriction === "read_only" ? { mode: "read_only" } : { admission: "paused" }),
    ...(restriction === "queue" ? { queue: "paused" } : {}),
    ...(text ? { message: text } : {}),
  };
}
