import type { RunItem } from "@outrider/sdk";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { showToast } from "../../../frame/toasts.ts";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { draftOfRun } from "../../composer/draft-from-run.ts";
import { RunForm } from "../../composer/run-form.tsx";

/** Shows the form for a new run, prefilled from this one. */
export function RerunDialog({ run, onClose }: { run: RunItem; onClose: () => void }) {
  const navigate = useNavigate();
  // The draft is computed once, because later changes to the run must not overwrite the user's input.
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const draft = useMemo(() => draftOfRun(run), []);
  const lost = missingInputNote(run);
  return (
    <Dialog
      open
      onClose={onClose}
      sheet
      keepOpen
      title="Re-run"
      description="Starts a new run with the same prompt and settings. You can change them first. This run is not affected."
    >
      {lost && <p className="mb-3 rounded-lg bg-warn-soft px-3 py-2">{lost}</p>}
      <RunForm
        initial={draft}
        compareWith={draft}
        onCreated={({ run_id }) => {
          onClose();
          showToast("Run started");
          void navigate({ to: "/runs/$runId", params: { runId: run_id } });
        }}
      />
    </Dialog>
  );
}

/** Lists the inputs that the run does not reveal and that the user must enter again. */
function missingInputNote({ agent_config, attachments = [] }: RunItem): string | undefined {
  const hidden = JSON.stringify(agent_config.mcp_servers ?? {}).includes("***");
  const words = [
    hidden && "Values of its MCP servers are hidden. Enter them again under Options.",
    attachments.length > 0 &&
      `Attach these files again: ${attachments.map((one) => one.file_name).join(", ")}.`,
  ].filter(Boolean);
  return words.length > 0 ? words.join(" ") : undefined;
}
