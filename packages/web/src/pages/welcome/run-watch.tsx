import type { RunEvent } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { RunState } from "../../ui/run-state.tsx";
import type { WatchedRun } from "./watched-run.ts";

/** The run in a few lines; its own page tells all. */
export function RunWatch({ runId, watched }: { runId: string; watched: WatchedRun }) {
  const { run, events, error } = watched;
  const lines = events.flatMap(lineOf);
  return (
    <div className="flex flex-col gap-3">
      <div role="status" className="flex h-6 items-center">
        {run && <RunState state={run.state} phase={run.phase} />}
      </div>
      <div className="min-h-44 rounded-md border border-line bg-code p-3 font-mono text-xs leading-5">
        {lines.length === 0 && <p className="text-muted">Waiting for the first words…</p>}
        {lines.map(({ key, text, look }) => (
          <p key={key} className={look}>
            {text}
          </p>
        ))}
      </div>
      {run?.state === "FAILED" && (
        <p className="text-bad">{run.status_message?.message ?? "It failed; its page says why."}</p>
      )}
      {error ? <Problem error={error} /> : null}
      <div>
        <Link to="/runs/$runId" params={{ runId }} className={buttonClass("plain")}>
          Open the run
        </Link>
      </div>
    </div>
  );
}

interface Line {
  key: string;
  text: string;
  look: string;
}

const wrapped = "whitespace-pre-wrap break-words";

function lineOf({ seq, type, data }: RunEvent): Line[] {
  const line = (text: string, look = ""): Line[] => [{ key: String(seq), text, look: `${wrapped} ${look}` }];
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
