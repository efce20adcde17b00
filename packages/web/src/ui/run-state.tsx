import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import clsx from "clsx";
import { Ban, CircleCheck, CircleDashed, CircleQuestionMark, CircleX, LoaderCircle } from "lucide-react";
import { useConnection } from "../frame/connection.ts";

type State = RunItem["state"];
type Phase = RunItem["phase"];

export const stateLabels: Record<State, string> = {
  QUEUED: "Queued",
  INPROGRESS: "Working",
  BLOCKED: "Needs input",
  SUCCEEDED: "Succeeded",
  FAILED: "Failed",
  CANCELLED: "Cancelled",
};

const styles: Record<State, { Icon: typeof Ban; color: string; background: string }> = {
  QUEUED: { Icon: CircleDashed, color: "text-muted", background: "bg-raised" },
  INPROGRESS: { Icon: LoaderCircle, color: "text-live", background: "bg-live-soft" },
  BLOCKED: { Icon: CircleQuestionMark, color: "text-warn", background: "bg-warn-soft" },
  SUCCEEDED: { Icon: CircleCheck, color: "text-good", background: "bg-good-soft" },
  FAILED: { Icon: CircleX, color: "text-bad", background: "bg-bad-soft" },
  CANCELLED: { Icon: Ban, color: "text-muted", background: "bg-raised" },
};

const phaseLabels: Partial<Record<NonNullable<Phase>, string>> = {
  preparing: "Preparing",
  recovering: "Recovering",
};

interface RunStateProps {
  state: State;
  phase?: Phase | undefined;
  /** Adds a background, which is used in headers. */
  boxed?: boolean;
}

export function RunState({ state, phase, boxed = false }: RunStateProps) {
  // Without a connection, nobody knows whether the run still works.
  const isOld = useConnection().isLost && !isFinal(state);
  const { Icon, color, background } = styles[state];
  const label = (phase && phaseLabels[phase]) || stateLabels[state];
  return (
    <span
      title={isOld ? "The last known state" : undefined}
      className={clsx(
        "inline-flex items-center gap-1.5 whitespace-nowrap font-medium",
        color,
        boxed && clsx("rounded-full px-2.5 py-1 text-xs", background),
      )}
    >
      <Icon
        className={clsx("size-4 shrink-0", state === "INPROGRESS" && !isOld && "animate-spin")}
        aria-hidden
      />
      {isOld && boxed ? `Last seen: ${label}` : label}
    </span>
  );
}
