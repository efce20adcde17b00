import type { Build } from "@outrider/sdk";
import clsx from "clsx";
import { CircleCheck, CircleDashed, CircleX, LoaderCircle } from "lucide-react";

type State = Build["state"];

const styles: Record<State, { Icon: typeof CircleX; color: string; label: string }> = {
  QUEUED: { Icon: CircleDashed, color: "text-muted", label: "Queued" },
  BUILDING: { Icon: LoaderCircle, color: "text-live", label: "Building" },
  READY: { Icon: CircleCheck, color: "text-good", label: "Ready" },
  FAILED: { Icon: CircleX, color: "text-bad", label: "Failed" },
};

export function BuildState({ state }: { state: State }) {
  const { Icon, color, label } = styles[state];
  return (
    <span className={clsx("inline-flex items-center gap-1.5 whitespace-nowrap align-top font-medium", color)}>
      <Icon className={clsx("size-4 shrink-0", state === "BUILDING" && "animate-spin")} aria-hidden />
      {label}
    </span>
  );
}

export const isUnfinished = ({ state }: { state: State }) => state === "QUEUED" || state === "BUILDING";
