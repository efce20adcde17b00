import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useRunHints } from "../../hints.ts";
import { queries } from "../../queries.ts";
import { useShortcut } from "../../shell/shortcuts.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { PROMPT_ID, RunForm } from "../composer/run-form.tsx";
import { FirstRun } from "./first-run.tsx";
import { RunGroup } from "./run-group.tsx";
import { chosenIn } from "./search.ts";
import { useOverview } from "./use-overview.ts";

function focusPrompt() {
  document.getElementById(PROMPT_ID)?.focus();
}

/** What to do next: ask for something, or look after what was asked for. */
export function Home() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const { hash, state } = useLocation();
  const search = useSearch({ from: "/frame/" });
  const newest = useQuery(queries.runs({ limit: 1 }));
  const { attention, active, finished, error, isLoading } = useOverview();
  useShortcut({ keys: "c", what: "New run", run: focusPrompt });
  useRunHints(() => void client.invalidateQueries({ queryKey: ["runs", "short"] }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: who comes here again, from here, wants to type again.
  useEffect(() => {
    if (hash === "new-run") focusPrompt();
  }, [hash, state]);

  // Taken once: after a reload what was typed since counts.
  useEffect(() => {
    if (Object.keys(search).length > 0)
      void navigate({ to: "/", search: {}, hash: "new-run", replace: true });
  }, [search, navigate]);

  const isFirst = newest.data?.length === 0;
  return (
    <Page title="Home">
      <RunForm
        chosen={chosenIn(search)}
        onCreated={({ run_id }) => void navigate({ to: "/runs/$runId", params: { runId: run_id } })}
      />
      <div className="mt-6 flex flex-col gap-6">
        {error && (
          <Problem error={error} onRetry={() => void client.invalidateQueries({ queryKey: ["runs"] })} />
        )}
        {isLoading && !error && <SkeletonRows label="Loading runs" />}
        {isFirst && <FirstRun />}
        {attention && attention.length > 0 && (
          <RunGroup
            title="Needs attention"
            runs={attention}
            more={{ view: "Needs attention", search: { state: "BLOCKED,FAILED" } }}
          />
        )}
        {active && !isFirst && (
          <RunGroup
            title="Running"
            runs={active}
            more={{ view: "Active", search: { state: "QUEUED,INPROGRESS,BLOCKED" } }}
            empty="Nothing is at work. What you start appears here while it works."
          />
        )}
        {finished && finished.length > 0 && (
          <RunGroup
            title="Finished"
            runs={finished}
            more={{ view: "Finished", search: { state: "SUCCEEDED,FAILED,CANCELLED" } }}
          />
        )}
      </div>
    </Page>
  );
}
