import type { RunItem } from "@outrider/sdk";
import clsx from "clsx";
import { Ban, CircleCheck, CircleDashed, CircleQuestionMark, CircleX, LoaderCircle } from "lucide-react";

type State = RunItem["state"];
type Phase = RunItem["phase"];

/** The words, colour and sign of a state are the same on every page. */
export const stateWords: Record<State, string> = {
  QUEUED: "Queued",
  INPROGRESS: "Working",
  BLOCKED: "Needs an answer",
  SUCCEEDED: "Succeeded",
  FAILED: "Failed",
  CANCELLED: "Cancelled",
};

const looks: Record<State, { Sign: typeof Ban; colour: string; ground: string }> = {
  QUEUED: { Sign: CircleDashed, colour: "text-muted", ground: "bg-raised" },
  INPROGRESS: { Sign: LoaderCircle, colour: "text-live", ground: "bg-live-soft" },
  BLOCKED: { Sign: CircleQuestionMark, colour: "text-warn", ground: "bg-warn-soft" },
  SUCCEEDED: { Sign: CircleCheck, colour: "text-good", ground: "bg-good-soft" },
  FAILED: { Sign: CircleX, colour: "text-bad", ground: "bg-bad-soft" },
  CANCELLED: { Sign: Ban, colour: "text-muted", ground: "bg-raised" },
};

const phaseWords: Partial<Record<NonNullable<Phase>, string>> = {
  preparing: "Preparing",
  recovering: "Recovering",
  closing: "Storing files",
};

interface RunStateProps {
  state: State;
  phase?: Phase | undefined;
  /** On a ground of its own, for headers. */
  boxed?: boolean;
}

export function RunState({ state, phase, boxed = false }: RunStateProps) {
  const { Sign, colour, ground } = looks[state];
  const words = (phase && phaseWords[phase]) || stateWords[state];
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1.5 whitespace-nowrap font-medium",
        colour,
        boxed && clsx("rounded-full px-2.5 py-1 text-xs", ground),
      )}
    >
      <Sign className={clsx("size-4 shrink-0", state === "INPROGRESS" && "animate-spin")} aria-hidden />
      {words}
    </span>
  );
}
