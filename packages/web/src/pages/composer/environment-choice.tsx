import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { Choice } from "./choice.tsx";

interface EnvironmentChoiceProps {
  value: string;
  error: string | undefined;
  onChange: (environmentId: string) => void;
}

export function EnvironmentChoice({ value, error, onChange }: EnvironmentChoiceProps) {
  const { data: environments } = useQuery(queries.environments());
  const isGone = environments && value !== "" && !environments.some((each) => each.environment_id === value);
  return (
    <Choice
      label="Environment"
      value={value}
      error={isGone ? "This environment was deleted. Choose another." : error}
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
    </Choice>
  );
}

/** Teaches what environments are for, as long as there is none. */
export function EnvironmentNote() {
  const { data: environments } = useQuery(queries.environments());
  if (environments?.length !== 0) return null;
  return (
    <>
      The run begins in an empty folder without network. An{" "}
      <Link to="/environments" className="text-accent-ink underline">
        environment
      </Link>{" "}
      gives it your repositories, setup and network.
    </>
  );
}
