import { useMemo, useState } from "react";
import { setting } from "../../shell/setting.ts";
import { columns } from "./columns.tsx";

const stored = setting("runs.columns");
const usual = columns.filter((column) => column.usual).map(({ id }) => id);

/** Which columns the reader wants, in this browser. The title is always there: it leads to the run. */
export function useColumns() {
  const [chosen, setChosen] = useState(() => stored.read()?.split(",") ?? usual);
  const shown = useMemo(() => columns.filter(({ id }) => id === "title" || chosen.includes(id)), [chosen]);
  const toggle = (id: string) => {
    const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
    setChosen(next);
    stored.write(next.join(","));
  };
  return { shown, toggle };
}
