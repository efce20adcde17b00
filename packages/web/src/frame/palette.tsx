import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command, defaultFilter } from "cmdk";
import {
  Bot,
  Box,
  Keyboard,
  LayoutTemplate,
  LogOut,
  Monitor,
  Moon,
  OctagonPause,
  Plus,
  Sun,
} from "lucide-react";
import { useState } from "react";
import { queries, signOut } from "../queries.ts";
import { Dialog } from "../ui/overlay/dialog.tsx";
import { sanitizeLine } from "../ui/text/sanitize.ts";
import { navItems } from "./nav.ts";
import { PaletteCurrentRun } from "./palette-current-run.tsx";
import { type Entry, PaletteGroup, SERVER_RESULT } from "./palette-group.tsx";
import { PaletteRuns } from "./palette-runs.tsx";
import { chooseTheme } from "./theme.ts";

/**
 * Scores entries by their labels only, because IDs would match almost any text. Server results rank below matching
 * labels.
 */
function score(value: string, typed: string, labels: string[] = []): number {
  return value.startsWith(SERVER_RESULT) ? 0.001 : defaultFilter(labels.join(" "), typed);
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const { data: me } = useQuery(queries.me());
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: identities = [] } = useQuery(queries.identities());
  const { data: templates = [] } = useQuery(queries.templates());
  const closeAnd = (action: () => unknown) => () => {
    onClose();
    action();
  };

  const maintenance: Entry = {
    id: "maintenance",
    label: "Maintenance",
    Icon: OctagonPause,
    run: closeAnd(() => navigate({ to: "/settings", search: { section: "operations" } })),
  };
  const actions: Entry[] = [
    {
      id: "new-run",
      label: "New run",
      Icon: Plus,
      run: closeAnd(() => navigate({ to: "/", hash: "new-run" })),
    },
    ...(me?.role === "admin" ? [maintenance] : []),
    { id: "help", label: "Keyboard shortcuts", Icon: Keyboard, run: closeAnd(onHelp) },
  ];
  const accountEntries: Entry[] = [
    { id: "light", label: "Light theme", Icon: Sun, run: closeAnd(() => chooseTheme("light")) },
    { id: "dark", label: "Dark theme", Icon: Moon, run: closeAnd(() => chooseTheme("dark")) },
    { id: "system", label: "System theme", Icon: Monitor, run: closeAnd(() => chooseTheme("system")) },
    { id: "sign-out", label: "Sign out", Icon: LogOut, run: closeAnd(signOut) },
  ];
  const pageEntries: Entry[] = navItems
    .filter(({ admin }) => !admin || me?.role === "admin")
    .map(({ to, label, Icon }) => ({ id: to, label, Icon, run: closeAnd(() => navigate({ to })) }));
  const environmentEntries: Entry[] = environments.map(({ environment_id: environmentId, name }) => ({
    id: environmentId,
    label: name,
    Icon: Box,
    run: closeAnd(() => navigate({ to: "/environments/$environmentId", params: { environmentId } })),
  }));
  const templateEntries: Entry[] = templates.map(({ template_id, name }) => ({
    id: template_id,
    label: `New run: ${sanitizeLine(name)}`,
    Icon: LayoutTemplate,
    run: closeAnd(() => navigate({ to: "/", search: { template: template_id }, hash: "new-run" })),
  }));
  // A cloud agent has no page of its own, so its entry opens its runs.
  const agents: Entry[] = identities.map(({ uid, name }) => ({
    id: uid,
    label: name,
    Icon: Bot,
    run: closeAnd(() => navigate({ to: "/runs", search: { creator: uid } })),
  }));
  return (
    <Dialog open onClose={onClose} title="Command menu">
      <Command label="Command menu" loop filter={score} className="flex flex-col">
        <Command.Input
          data-autofocus
          value={typed}
          onValueChange={setTyped}
          placeholder="Search pages, runs and actions"
          className="h-10 w-full rounded-md border border-line-strong/60 bg-surface px-3 text-base sm:text-sm"
        />
        <Command.List className="mt-3 h-[min(24rem,55dvh)] overflow-y-auto">
          <Command.Empty className="px-2 py-6 text-center text-muted">No results</Command.Empty>
          <PaletteCurrentRun onChosen={onClose} />
          <PaletteGroup heading="Actions" entries={actions} />
          <PaletteRuns typed={typed.trim()} onChosen={onClose} />
          <PaletteGroup heading="Pages" entries={pageEntries} />
          <PaletteGroup heading="Templates" entries={templateEntries} />
          <PaletteGroup heading="Environments" entries={environmentEntries} />
          <PaletteGroup heading="Cloud agents" entries={agents} />
          <PaletteGroup heading="Account" entries={accountEntries} />
        </Command.List>
      </Command>
    </Dialog>
  );
}
