import { unfinishedStates } from "@outrider/contract/run-state";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useShortcut } from "../../frame/shortcuts.ts";
import { queries } from "../../queries.ts";
import { useRunChanges } from "../../run-changes.ts";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { Page } from "../../ui/page.tsx";
import { PROMPT_ID, RunForm } from "../composer/run-form.tsx";
import { AttentionGroup } from "./attention-group.tsx";
import { FirstRun } from "./first-run.tsx";
import { RunGroup } from "./run-group.tsx";
import { overridesFrom } from "./search.ts";
import { useOverview } from "./use-overview.ts";

/** Focusing the prompt opens the keyboard of a phone, so only devices with a mouse or trackpad do it on their own. */
const hasPointer = () => matchMedia("(pointer: fine)").matches;

function focusPrompt() {
  document.getElementById(PROMPT_ID)?.focus();
}

export function Home() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const { hash, state } = useLocation();
  const search = useSearch({ from: "/frame/" });
  const newest = useQuery(queries.runs({ limit: 1 }));
  const { active, finished, error, isLoading } = useOverview();
  useShortcut({ keys: "c", what: "New run", run: focusPrompt });
  useRunChanges(() => {
    void client.invalidateQueries({ queryKey: ["runs", "short"] });
    void client.invalidateQueries({ queryKey: ["attention"] });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same link used again focuses the prompt again.
  useEffect(() => {
    if (hash === "new-run" || hasPointer()) focusPrompt();
  }, [hash, state]);

  // The search parameters are applied once and then removed, so that a reload keeps the text typed since then.
  useEffect(() => {
    if (Object.keys(search).length > 0)
      void navigate({ to: "/", search: {}, hash: "new-run", replace: true });
  }, [search, navigate]);

  const areNotesLoaded = useNotesLoaded();
  const isReady = areNotesLoaded && !isLoading;
  const isFirst = newest.data?.length === 0;
  return (
    <Page title="Home">
      <RunForm
        overrides={overridesFrom(search)}
        templateId={search.template}
        onCreated={({ run_id }) => void navigate({ to: "/runs/$runId", params: { runId: run_id } })}
      />
      <div className="mt-6 flex flex-col gap-6">
        {error && (
          <ErrorAlert error={error} onRetry={() => void client.invalidateQueries({ queryKey: ["runs"] })} />
        )}
        {areNotesLoaded && isLoading && !error && <SkeletonRows rows={12} label="Loading runs" />}
        {isReady && isFirst && <FirstRun />}
        {isReady && <AttentionGroup />}
        {isReady && active && !isFirst && (
          <RunGroup
            title="Running"
            runs={active}
            more={{ view: "Active", search: { state: unfinishedStates.join(",") } }}
            empty="No active runs. Runs that you start appear here."
          />
        )}
        {isReady && finished && finished.length > 0 && (
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

/** Returns whether the form's notes are loaded. The lists below wait for them, because they change the form's height. */
function useNotesLoaded(): boolean {
  const pending = [
    useQuery(queries.models()).isPending,
    useQuery(queries.harnesses()).isPending,
    useQuery(queries.environments()).isPending,
  ];
  return !pending.includes(true);
}
