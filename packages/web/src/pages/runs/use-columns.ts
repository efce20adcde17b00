import { useMemo, useState } from "react";
import { storedSetting } from "../../frame/stored-setting.ts";
import { columns } from "./columns.tsx";

const stored = storedSetting("runs.columns");
const isDefault = columns.filter((column) => column.isDefault).map(({ id }) => id);

/** Returns the visible columns, which are saved in this browser. The title is always visible. */
export function useColumns() {
  const [chosen, setChosen] = useState(() => stored.read()?.split(",") ?? isDefault);
  const shown = useMemo(() => columns.filter(({ id }) => id === "title" || chosen.includes(id)), [chosen]);
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
    setChosen(next);
    stored.write(next.join(","));
  };
  return { shown, toggle };
}
