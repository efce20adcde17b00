import type { Build } from "@outrider/sdk";
import clsx from "clsx";
import { CircleCheck, CircleDashed, CircleX, LoaderCircle } from "lucide-react";

type State = Build["state"];

const looks: Record<State, { Sign: typeof CircleX; colour: string; words: string }> = {
  QUEUED: { Sign: CircleDashed, colour: "text-muted", words: "Queued" },
  BUILDING: { Sign: LoaderCircle, colour: "text-live", words: "Building" },
  READY: { Sign: CircleCheck, colour: "text-good", words: "Ready" },
  FAILED: { Sign: CircleX, colour: "text-bad", words: "Failed" },
};

export function BuildState({ state }: { state: State }) {
  const { Sign, colour, words } = looks[state];
  return (
    <span
      className={clsx("inline-flex items-center gap-1.5 whitespace-nowrap align-top font-medium", colour)}
    >
      <Sign className={clsx("size-4 shrink-0", state === "BUILDING" && "animate-spin")} aria-hidden />
      {words}
    </span>
  );
}

export const isUnfinished = ({ state }: { state: State }) => state === "QUEUED" || state === "BUILDING";
