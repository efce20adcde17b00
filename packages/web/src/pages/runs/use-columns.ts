import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { storedSetting } from "../../frame/stored-setting.ts";
import { queries } from "../../queries.ts";
import { columns } from "./columns.tsx";

const stored = storedSetting("runs.columns");
const isDefault = columns.filter((column) => column.isDefault).map(({ id }) => id);

/**
 * Returns the visible columns: those of the selected view, or those saved in this browser. The title is always visible.
 */
export function useColumns(viewId: string | undefined) {
  const [own, setOwn] = useState(() => stored.read()?.split(",") ?? isDefault);
  // Changes to a view's columns apply until another view is selected or the view is saved.
  const [changed, setChanged] = useState<{ viewId: string; ids: string[] }>();
  const { data: views } = useQuery({ ...queries.views(), enabled: viewId !== undefined });
  const saved = views?.find(({ view_id }) => view_id === viewId)?.columns;
  const chosen = viewId !== undefined && changed?.viewId === viewId ? changed.ids : (saved ?? own);
  const shown = useMemo(() => columns.filter(({ id }) => id === "title" || chosen.includes(id)), [chosen]);
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
    if (viewId !== undefined && saved) return setChanged({ viewId, ids: next });
    setOwn(next);
    stored.write(next.join(","));
  };
  return { shown, toggle };
}
