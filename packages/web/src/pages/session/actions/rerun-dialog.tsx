import type { RunItem } from "@outrider/sdk";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { announce } from "../../../shell/announcements.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { draftOfRun } from "../../composer/from-run.ts";
import { RunForm } from "../../composer/run-form.tsx";

/** The same again, or almost: everything can be changed before it is asked for. */
export function RerunDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const navigate = useNavigate();
  // Once: a run that goes on meanwhile must not overwrite what is being typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const draft = useMemo(() => draftOfRun(run), []);
  const lost = lostWords(run);
  return (
    <Dialog
      open
      onClose={onClose}
      sheet
      title="Re-run with changes"
      description="A new run, with what this one was given. Change what you like; this one stays as it is."
    >
      {lost && <p className="mb-3 rounded-lg bg-warn-soft px-3 py-2">{lost}</p>}
      <RunForm
        initial={draft}
        onCreated={({ run_id }) => {
          onClose();
          announce("The new run is created");
          void navigate({ to: "/runs/$runId", params: { runId: run_id } });
        }}
      />
    </Dialog>
  );
}

/** What a run does not give back, and has to be given again. */
function lostWords({ agent_config, attachments = [] }: RunItem): string | undefined {
  const hidden = JSON.stringify(agent_config.mcp_servers ?? {}).includes("***");
  const words = [
    hidden && "Values of its MCP servers are hidden: fill them in again under Options.",
    attachments.length > 0 &&
      `Attach again what it was given: ${attachments.map((one) => one.file_name).join(", ")}.`,
  ].filter(Boolean);
  return words.length > 0 ? words.join(" ") : undefined;
}
