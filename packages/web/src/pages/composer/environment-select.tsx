import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { InlineSelect } from "./inline-select.tsx";

interface EnvironmentSelectProps {
  value: string;
  error: string | undefined;
  onChange: (environmentId: string) => void;
}

export function EnvironmentSelect({ value, error, onChange }: EnvironmentSelectProps) {
  const { data: environments } = useQuery(queries.environments());
  const isGone = environments && value !== "" && !environments.some((each) => each.environment_id === value);
  return (
    <InlineSelect
      label="Environment"
      value={value}
      error={isGone ? "was deleted; choose another" : error}
      onChange={onChange}
    >
      <option value="">No environment</option>
      {isGone && <option value={value}>Deleted environment</option>}
      {!environments && value !== "" && <option value={value}>…</option>}
      {environments?.map(({ environment_id, name }) => (
        <option key={environment_id} value={environment_id}>
          {name}
        </option>
      ))}
    </InlineSelect>
  );
}

/** Explains what environments are if none exist yet. */
export function EnvironmentNote() {
  const { data: environments } = useQuery(queries.environments());
  if (environments?.length !== 0) return null;
  return (
    <>
      The run starts in an empty workspace without network access. An{" "}
      <Link to="/environments" className="text-accent-ink underline">
        environment
      </Link>{" "}
      adds your repositories, setup and network.
    </>
  );
}
