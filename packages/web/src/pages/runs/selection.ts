import { useState } from "react";

/** Manages the selected rows and the anchor of a range selection. */
export function useSelection() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [anchor, setAnchor] = useState<string>();
  return {
    ids,
    toggle(id: string) {
      const next = new Set(ids);
      if (!next.delete(id)) next.add(id);
      setIds(next);
      setAnchor(id);
    },
    /** Selects all rows from the anchor to this row. */
    extend(id: string, order: readonly string[]) {
      const [from, to] = [order.indexOf(anchor ?? id), order.indexOf(id)].toSorted((a, b) => a - b);
      if (from === undefined || to === undefined || from < 0) return;
      setIds(new Set([...ids, ...order.slice(from, to + 1)]));
      setAnchor(id);
    },
    setAll: (all: readonly string[]) => setIds(new Set(all)),
    clear() {
      setIds(new Set());
      setAnchor(undefined);
    },
  };
}

export type Selection = ReturnType<typeof useSelection>;
