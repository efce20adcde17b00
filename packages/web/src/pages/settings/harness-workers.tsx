import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { Harness, Worker } from "@outrider/sdk";
import { CircleCheck, CircleDashed, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { sanitizeLine } from "../../ui/text/sanitize.ts";

/** An installation may have hundreds of workers, most of them alike. */
const MAX_SHOWN = 10;
const icon = "mt-0.5 size-3.5 shrink-0";

/** Shows which workers have installed a harness, and why others cannot use it. Workers with problems come first. */
export function HarnessWorkers({ harness, workers }: { harness: Harness; workers: Worker[] }) {
  if (harness.name === DEFAULT_HARNESS) return <span className="text-muted">Part of every worker</span>;
  if (workers.length === 0) return <span className="text-muted">None</span>;
  const statuses = workers
    .map((worker) => ({ worker, status: statusOf(worker, harness) }))
    .toSorted((a, b) => Number(b.status.isProblem) - Number(a.status.isProblem));
  return (
    <ul aria-label={`${harness.title} on workers`} className="flex flex-col gap-1 text-xs">
      {statuses.slice(0, MAX_SHOWN).map(({ worker, status }) => (
        <li key={worker.worker_id} className="flex gap-1.5">
          {status.icon}
          <span className="min-w-0 break-words">
            <span className="font-medium break-all">{sanitizeLine(worker.name)}</span>:{" "}
            <span className={status.isProblem ? "text-warn" : "text-muted"}>
              <InlineCode text={status.text} />
            </span>
          </span>
        </li>
      ))}
      {statuses.length > MAX_SHOWN && (
        <li className="text-muted">and {statuses.length - MAX_SHOWN} more workers</li>
      )}
    </ul>
  );
}

interface Status {
  text: string;
  isProblem: boolean;
  icon: ReactNode;
}

function statusOf(worker: Worker, { name }: Harness): Status {
  const report = worker.harnesses?.find((each) => each.name === name);
  const { version, installed, problem } = report ?? {};
  if (problem !== undefined) {
    return {
      text: sanitizeLine(problem),
      isProblem: true,
      icon: <TriangleAlert className={`${icon} text-warn`} aria-hidden />,
    };
  }
  const isInstalled = installed === true;
  return {
    text: [version, isInstalled ? "installed" : report ? "not installed yet" : "not reported"]
      .filter(Boolean)
      .join(", "),
    isProblem: false,
    icon: isInstalled ? (
      <CircleCheck className={`${icon} text-good`} aria-hidden />
    ) : (
      <CircleDashed className={`${icon} text-muted`} aria-hidden />
    ),
  };
}
