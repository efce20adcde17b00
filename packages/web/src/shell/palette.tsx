import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command, defaultFilter } from "cmdk";
import { Bot, Box, Keyboard, LogOut, Monitor, Moon, OctagonPause, Plus, Sun } from "lucide-react";
import { useState } from "react";
import { queries, signOut } from "../queries.ts";
import { Dialog } from "../ui/dialog.tsx";
import { places } from "./nav.ts";
import { type Entry, FOUND, PaletteGroup } from "./palette-group.tsx";
import { PaletteRuns } from "./palette-runs.tsx";
import { chooseTheme } from "./theme.ts";

/** By their labels alone, since ids hold any letters. What the server found fits, below what fits by its letters. */
function score(value: string, typed: string, labels: string[] = []): number {
  return value.startsWith(FOUND) ? 0.001 : defaultFilter(labels.join(" "), typed);
}

/** From anywhere to anywhere by a few letters. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const { data: me } = useQuery(queries.me());
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: identities = [] } = useQuery(queries.identities());
  const after = (act: () => unknown) => () => {
    onClose();
    act();
  };

  const brake: Entry = {
    id: "brake",
    label: "Brake",
    Sign: OctagonPause,
    run: after(() => navigate({ to: "/settings", search: { section: "operations" } })),
  };
  const actions: Entry[] = [
    { id: "new-run", label: "New run", Sign: Plus, run: after(() => navigate({ to: "/", hash: "new-run" })) },
    ...(me?.role === "admin" ? [brake] : []),
    { id: "help", label: "Keyboard shortcuts", Sign: Keyboard, run: after(onHelp) },
  ];
  const own: Entry[] = [
    { id: "light", label: "Light theme", Sign: Sun, run: after(() => chooseTheme("light")) },
    { id: "dark", label: "Dark theme", Sign: Moon, run: after(() => chooseTheme("dark")) },
    { id: "system", label: "Theme of the system", Sign: Monitor, run: after(() => chooseTheme("system")) },
    { id: "sign-out", label: "Sign out", Sign: LogOut, run: after(signOut) },
  ];
  const goTo: Entry[] = places
    .filter(({ admin }) => !admin || me?.role === "admin")
    .map(({ to, label, Sign }) => ({ id: to, label, Sign, run: after(() => navigate({ to })) }));
  const boxes: Entry[] = environments.map(({ environment_id: environmentId, name }) => ({
    id: environmentId,
    label: name,
    Sign: Box,
    run: after(() => navigate({ to: "/environments/$environmentId", params: { environmentId } })),
  }));
  // A cloud agent is met in what it does: its runs.
  const agents: Entry[] = identities.map(({ uid, name }) => ({
    id: uid,
    label: name,
    Sign: Bot,
    run: after(() => navigate({ to: "/runs", search: { creator: uid } })),
  }));
  return (
    <Dialog open onClose={onClose} title="Go to">
      <Command label="Go anywhere, do anything" loop filter={score} className="flex flex-col">
        <Command.Input
          data-autofocus
          value={typed}
          onValueChange={setTyped}
          placeholder="A place, an action, words of a run or its id"
          className="h-10 w-full rounded-md border border-line-strong/60 bg-surface px-3 text-base sm:text-sm"
        />
        <Command.List className="mt-3 h-[min(24rem,55dvh)] overflow-y-auto">
          <Command.Empty className="px-2 py-6 text-center text-muted">Nothing is called that.</Command.Empty>
          <PaletteGroup heading="Actions" entries={actions} />
          <PaletteRuns typed={typed.trim()} onChosen={onClose} />
          <PaletteGroup heading="Places" entries={goTo} />
          <PaletteGroup heading="Environments" entries={boxes} />
          <PaletteGroup heading="Runs of a cloud agent" entries={agents} />
          <PaletteGroup heading="You" entries={own} />
        </Command.List>
      </Command>
    </Dialog>
  );
}
