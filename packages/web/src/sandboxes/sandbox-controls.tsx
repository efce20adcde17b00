import type { Worker } from "@outrider/sdk";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { sanitizeLine } from "../ui/text/sanitize.ts";
import { resourceLabel } from "./resource-labels.ts";

const icon = "mt-0.5 size-3.5 shrink-0";

/** Shows what the sandboxes of a worker enforce, and why they do not enforce the rest. */
export function SandboxControls({ worker: { name, sandbox_controls = {} } }: { worker: Worker }) {
  const controls = Object.entries(sandbox_controls);
  if (controls.length === 0) return <p className="text-xs text-muted">Not reported</p>;
  return (
    <ul aria-label={`Controls of ${sanitizeLine(name)}`} className="flex flex-col gap-1 text-xs">
      {controls.map(([control, { enforced, by, reason }]) => (
        <li key={control} className="flex gap-1.5">
          {enforced ? (
            <CircleCheck className={`${icon} text-good`} aria-hidden />
          ) : (
            <TriangleAlert className={`${icon} text-warn`} aria-hidden />
          )}
          <span className="min-w-0 break-words">
            <span className="font-medium">{resourceLabel(control).name}</span>:{" "}
            {enforced ? (
              <span className="text-muted">enforced{by && ` by ${sanitizeLine(by)}`}</span>
            ) : (
              <span className="text-warn">not enforced{reason && `: ${sanitizeLine(reason)}`}</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
