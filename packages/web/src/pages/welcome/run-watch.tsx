import type { RunEvent } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { RunState } from "../../ui/run-state.tsx";
import type { WatchedRun } from "./watched-run.ts";

/** Shows a short live view of the run. */
export function RunProgress({ runId, watched }: { runId: string; watched: WatchedRun }) {
  const { run, events, error } = watched;
  const lines = events.flatMap(lineOf);
  return (
    <div className="flex flex-col gap-3">
      <div role="status" className="flex h-6 items-center">
        {run && <RunState state={run.state} phase={run.phase} />}
      </div>
      <div className="min-h-44 rounded-md border border-line bg-code p-3 font-mono text-xs leading-5">
        {lines.length === 0 && <p className="text-muted">Waiting for output…</p>}
        {lines.map(({ key, text, className }) => (
          <p key={key} className={className}>
            {text}
          </p>
        ))}
      </div>
      {run?.state === "FAILED" && (
        <p className="text-bad">{run.status_message?.message ?? "The run failed. Open it for details."}</p>
      )}
      {error ? <ErrorAlert error={error} /> : null}
      <div>
        <Link to="/runs/$runId" params={{ runId }} className={buttonClass("plain")}>
          Open run
        </Link>
      </div>
    </div>
  );
}

interface Line {
  key: string;
  text: string;
  className: string;
}

const wrapped = "whitespace-pre-wrap break-words";

function lineOf({ seq, type, data }: RunEvent): Line[] {
  const line = (text: string, className = ""): Line[] => [
    { key: String(seq), text, className: `${wrapped} ${className}` },
  ];
  switch (type) {
    case "message.agent":
      return line(data.text, "font-sans text-sm");
    case "file.changed":
      return line(`${data.kind} ${data.path}`, "text-good");
    case "command.started":
      return line(`$ ${data.command}`, "text-accent-ink");
    case "command.output":
      return line(data.text.trimEnd(), "text-muted");
    default:
      return [];
  }
}
