import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { ArrowRight } from "lucide-react";
import { queries } from "../../queries.ts";
import { Ansi } from "../../ui/ansi.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { durationWords } from "../../ui/time.tsx";
import { type Look, useRunLook } from "./look.ts";

const finals = ["SUCCEEDED", "FAILED", "CANCELLED"];

/** A short look at a run while it happens: commands, what they printed, what was said. The session page has all of it. */
export function RunLook({ runId }: { runId: string }) {
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    ...queries.run(runId),
    refetchInterval: ({ state }) => (state.data && finals.includes(state.data.state) ? false : 1_000),
  });
  const { looks, error: broken } = useRunLook(runId, () => void refetch());
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  return (
    <section aria-label="Test run" className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex min-h-13 items-center gap-3 border-b border-line px-4 py-2">
        <span role="status">{run && <RunState state={run.state} phase={run.phase} />}</span>
        <Link to="/runs/$runId" params={{ runId }} className={clsx(buttonClass(), "ml-auto")}>
          Open the session
          <ArrowRight className="size-4" aria-hidden />
        </Link>
      </header>
      {run?.state === "FAILED" && run.status_message && (
        <div role="alert" className="border-b border-line bg-bad-soft px-4 py-3">
          <p className="whitespace-pre-wrap break-words font-medium">{run.status_message.message}</p>
          {run.status_message.remedy && <p className="mt-1">{run.status_message.remedy}</p>}
        </div>
      )}
      {broken != null && <Problem error={broken} />}
      <div className="flex flex-col gap-3 p-4">
        {looks.length === 0 && !broken && <SkeletonRows rows={3} label="Waiting for the run" />}
        {looks.map((look) => (
          <OneLook key={look.key} look={look} />
        ))}
      </div>
    </section>
  );
}

function OneLook({ look }: { look: Look }) {
  if (look.type === "said") return <p className="whitespace-pre-wrap break-words">{look.text}</p>;
  if (look.type === "step") return <p className="break-words text-xs text-muted">{look.text}</p>;
  const { command, text, exitCode, durationMs } = look;
  return (
    <div className="overflow-hidden rounded-lg border border-line">
      <div className="flex items-center gap-2 border-b border-line bg-raised px-3 py-1.5 text-xs">
        <code className="min-w-0 flex-1 truncate" title={command}>
          {command}
        </code>
        {exitCode !== undefined && (
          <span className={exitCode === 0 ? "whitespace-nowrap text-good" : "whitespace-nowrap text-bad"}>
            exit {exitCode}
          </span>
        )}
        {durationMs !== undefined && (
          <span className="whitespace-nowrap text-muted">{durationWords(durationMs)}</span>
        )}
      </div>
      {text && (
        <section
          aria-label={`Output of ${command}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
          tabIndex={0}
          className="max-h-64 overflow-auto bg-code px-3 py-2 text-xs leading-5"
        >
          <Ansi text={text} />
        </section>
      )}
    </div>
  );
}
