import { isFinal } from "@outrider/contract/run-state";
import { useNavigate } from "@tanstack/react-router";
import {
  Copy,
  FileDiff,
  FileText,
  Hash,
  Link2,
  MessageSquareText,
  RotateCcw,
  Share2,
  Square,
  Trash2,
} from "lucide-react";
import { outrider } from "../api.ts";
import { type Tab, tabLabels, tabs } from "../pages/session/tab.ts";
import { copy } from "../ui/text/copy.tsx";
import { useCurrentRun } from "./current-run.ts";
import { type Entry, PaletteGroup } from "./palette-group.tsx";

const tabIcons: Partial<Record<Tab, typeof Copy>> = { transcript: MessageSquareText, changes: FileDiff };

/** Offers the actions and tabs of the run whose page is open. */
export function PaletteCurrentRun({ onChosen }: { onChosen: () => void }) {
  const navigate = useNavigate();
  const current = useCurrentRun();
  if (!current) return null;
  const { run, isAllowed, open } = current;
  const runId = run.run_id;
  const closeAnd = (action: () => unknown) => () => {
    onChosen();
    action();
  };
  const entries: Entry[] = [
    ...(isAllowed && !isFinal(run.state)
      ? [{ id: "cancel", label: "Cancel run…", Icon: Square, run: closeAnd(() => open("cancel")) }]
      : []),
    { id: "rerun", label: "Re-run…", Icon: RotateCcw, run: closeAnd(() => open("rerun")) },
    ...(isAllowed
      ? [{ id: "share", label: "Share run…", Icon: Share2, run: closeAnd(() => open("share")) }]
      : []),
    {
      id: "copy-link",
      label: "Copy link to run",
      Icon: Link2,
      run: closeAnd(() => copy(`${location.origin}/runs/${runId}`, "Link")),
    },
    { id: "copy-id", label: "Copy run ID", Icon: Hash, run: closeAnd(() => copy(runId, "Run ID")) },
    {
      id: "copy-prompt",
      label: "Copy prompt",
      Icon: Copy,
      run: closeAnd(() => copy(run.prompt, "Prompt")),
    },
    {
      id: "copy-markdown",
      label: "Copy transcript as Markdown",
      Icon: FileText,
      run: closeAnd(() => copy(outrider.runs.transcript(runId).then(String), "Transcript")),
    },
    ...tabs.map((tab) => ({
      id: `tab-${tab}`,
      label: `Go to ${tabLabels[tab]}`,
      Icon: tabIcons[tab] ?? FileText,
      run: closeAnd(() =>
        navigate({
          to: "/runs/$runId",
          params: { runId },
          search: tab === "transcript" ? {} : { tab },
        }),
      ),
    })),
    ...(isAllowed && isFinal(run.state)
      ? [{ id: "delete", label: "Delete run…", Icon: Trash2, run: closeAnd(() => open("delete")) }]
      : []),
  ];
  return <PaletteGroup heading="This run" entries={entries} />;
}
