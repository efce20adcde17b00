import type { RunItem } from "@outrider/sdk";
import { Braces, Code, FileText, Hash, Link2, SquareTerminal } from "lucide-react";
import { outrider } from "../../../api.ts";
import { copy } from "../../../ui/copy.tsx";
import { MenuItem } from "../../../ui/menu.tsx";
import { curlOf, pythonOf, typescriptOf } from "./recipe.ts";

/** What one takes along from a run: its words, its address, or the code that asks for it again. */
export function CopyItems({ run }: { run: RunItem }) {
  const link = `${location.origin}/runs/${run.run_id}`;
  const items = [
    { what: "Copy link", Sign: Link2, take: () => copy(link, "Link") },
    { what: "Copy run id", Sign: Hash, take: () => copy(run.run_id, "Run id") },
    {
      what: "Copy as Markdown",
      Sign: FileText,
      take: () => copy(outrider.runs.transcript(run.run_id).then(String), "Transcript"),
    },
    { what: "Copy as curl", Sign: SquareTerminal, take: () => copy(curlOf(run), "curl command") },
    { what: "Copy as TypeScript", Sign: Code, take: () => copy(typescriptOf(run), "TypeScript") },
    { what: "Copy as Python", Sign: Braces, take: () => copy(pythonOf(run), "Python") },
  ];
  return items.map(({ what, Sign, take }) => (
    <MenuItem key={what} icon={<Sign className="size-4" aria-hidden />} onSelect={() => void take()}>
      {what}
    </MenuItem>
  ));
}
