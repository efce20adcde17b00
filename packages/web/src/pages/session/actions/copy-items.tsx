import type { RunItem } from "@outrider/sdk";
import { Braces, Code, FileText, Hash, Link2, SquareTerminal } from "lucide-react";
import { outrider } from "../../../api.ts";
import { MenuItem } from "../../../ui/overlay/menu.tsx";
import { copy } from "../../../ui/text/copy.tsx";
import { curlOf, pythonOf, typescriptOf } from "./request-snippets.ts";

/** Shows menu items that copy the run's link, its transcript, or code that repeats the run. */
export function CopyItems({ run }: { run: RunItem }) {
  const link = `${location.origin}/runs/${run.run_id}`;
  const items = [
    { what: "Copy link", Icon: Link2, take: () => copy(link, "Link") },
    { what: "Copy run ID", Icon: Hash, take: () => copy(run.run_id, "Run ID") },
    {
      what: "Copy as Markdown",
      Icon: FileText,
      take: () => copy(outrider.runs.transcript(run.run_id).then(String), "Transcript"),
    },
    { what: "Copy as curl", Icon: SquareTerminal, take: () => copy(curlOf(run), "curl command") },
    { what: "Copy as TypeScript", Icon: Code, take: () => copy(typescriptOf(run), "TypeScript") },
    { what: "Copy as Python", Icon: Braces, take: () => copy(pythonOf(run), "Python") },
  ];
  return items.map(({ what, Icon, take }) => (
    <MenuItem key={what} icon={<Icon className="size-4" aria-hidden />} onSelect={() => void take()}>
      {what}
    </MenuItem>
  ));
}
