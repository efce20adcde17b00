import { useQuery } from "@tanstack/react-query";
import { queries } from "../queries.ts";

/** Lists all harnesses as options of a select. A stored name stays selectable if it is no longer configured. */
export function HarnessOptions({ value }: { value: string }) {
  const { data: harnesses = [] } = useQuery(queries.harnesses());
  const isUnlisted = value !== "" && !harnesses.some(({ name }) => name === value);
  return (
    <>
      {isUnlisted && <option value={value}>{value}</option>}
      {harnesses.map(({ name, title, version, available }) => (
        <option key={name} value={name}>
          {[title, version, !available && "(not available)"].filter(Boolean).join(" ")}
        </option>
      ))}
    </>
  );
}
