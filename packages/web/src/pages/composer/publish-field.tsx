import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Field, Select } from "../../ui/form/field.tsx";

interface PublishFieldProps {
  value: string;
  environmentId: string;
  error: string | undefined;
  onChange: (publish: string) => void;
}

/** Selects what the run publishes when it succeeds. Shown if the environment has repositories. */
export function PublishField({ value, environmentId, error, onChange }: PublishFieldProps) {
  const { data: environments } = useQuery(queries.environments());
  const environment = environments?.find(({ environment_id }) => environment_id === environmentId);
  // A value without a repository is shown, so that the user can correct it.
  if (!environment?.repos.length && value === "") return null;
  return (
    <Field label="Publish" hint="When the run succeeds, within the environment's policy." error={error}>
      {(parts) => (
        <Select {...parts} value={value} onChange={({ target }) => onChange(target.value)}>
          <option value="">As the environment says</option>
          <option value="draft_pull_request">Draft pull request</option>
          <option value="pull_request">Pull request, ready for review</option>
          <option value="branch">Branch only</option>
          <option value="none">Nothing</option>
        </Select>
      )}
    </Field>
  );
}
