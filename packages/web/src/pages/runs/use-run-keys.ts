import type { RunItem } from "@outrider/sdk";
import { useNavigate } from "@tanstack/react-router";
import { useShortcut } from "../../frame/shortcuts.ts";
import { SEARCH_ID } from "./search-box.tsx";
import type { Selection } from "./selection.ts";

interface RunKeys {
  rows: readonly RunItem[];
  cursor: number;
  setCursor: (index: number) => void;
  selection: Selection;
}

/** Registers the table's keyboard shortcuts. Enter needs no shortcut, because the focused row is a link. */
export function useRunKeys({ rows, cursor, setCursor, selection }: RunKeys) {
  const navigate = useNavigate();
  const move = (by: number) => {
    if (rows.length > 0) setCursor(Math.min(Math.max(cursor + by, 0), rows.length - 1));
  };
  useShortcut({ keys: "/", what: "Search runs", run: () => document.getElementById(SEARCH_ID)?.focus() });
  useShortcut({ keys: "j", what: "Next run", run: () => move(1) });
  useShortcut({ keys: "k", what: "Previous run", run: () => move(-1) });
  useShortcut({
    keys: "x",
    what: "Select run (with Shift: select a range)",
    run({ shiftKey }) {
      const run = rows[cursor];
      if (!run) return;
      if (shiftKey)
        selection.extend(
          run.run_id,
          rows.map(({ run_id }) => run_id),
        );
      else selection.toggle(run.run_id);
    },
  });
  useShortcut({ keys: "c", what: "New run", run: () => void navigate({ to: "/", hash: "new-run" }) });
  useShortcut({ keys: "escape", what: "Clear selection", run: () => selection.clear() });
}
