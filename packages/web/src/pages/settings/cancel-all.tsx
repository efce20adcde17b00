import { limits } from "@outrider/contract/limits";
import { runSources, unfinishedStates } from "@outrider/contract/run-state";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Checkbox, Field, Select, TextInput } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { stateLabels } from "../../ui/run-state.tsx";
import { sourceLabels } from "../runs/search.ts";
import { anyRun, type CancelDraft, filterOf } from "./cancel-filter.ts";
import { CancelProgress } from "./cancel-progress.tsx";

/** Lets an admin select runs to cancel and counts them. The admin confirms the number before any run is cancelled. */
export function CancelAll({ acceptsRuns }: { acceptsRuns: boolean }) {
  const [draft, setDraft] = useState(anyRun);
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: users = [] } = useQuery(queries.users());
  const { data: identities = [] } = useQuery(queries.identities());
  const count = useMutation({
    mutationFn: (filter: ReturnType<typeof filterOf>) =>
      outrider.maintenance.cancelRuns({ filter, dry_run: true }),
  });
  // The count is no longer valid after the filters change.
  const change = (part: Partial<CancelDraft>) => {
    setDraft({ ...draft, ...part });
    count.reset();
  };
  return (
    <Form
      aria-label="Cancel runs"
      className="flex flex-col gap-4"
      onSubmit={() => count.mutate(filterOf(draft))}
    >
      <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
        <legend className="pb-2 font-medium">
          State<span className="font-normal text-muted"> · any if none is selected</span>
        </legend>
        {unfinishedStates.map((state) => (
          <Checkbox
            key={state}
            label={stateLabels[state]}
            checked={draft.states.includes(state)}
            onChange={({ target }) =>
              change({
                states: target.checked
                  ? [...draft.states, state]
                  : draft.states.filter((each) => each !== state),
              })
            }
          />
        ))}
      </fieldset>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" hint="The exact name of the runs.">
          {(parts) => (
            <TextInput
              {...parts}
              maxLength={limits.nameCharacters}
              placeholder="nightly-tests"
              value={draft.name}
              onChange={({ target }) => change({ name: target.value })}
            />
          )}
        </Field>
        <Field label="Creator">
          {(parts) => (
            <Select
              {...parts}
              value={draft.creator}
              onChange={({ target }) => change({ creator: target.value })}
            >
              <option value="">Anyone</option>
              {users.map(({ uid, display_name, email }) => (
                <option key={uid} value={uid}>
                  {display_name} ({email})
                </option>
              ))}
              {identities.map(({ uid, name }) => (
                <option key={uid} value={uid}>
                  {name} (cloud agent)
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Environment">
          {(parts) => (
            <Select
              {...parts}
              value={draft.environment}
              onChange={({ target }) => change({ environment: target.value })}
            >
              <option value="">Any</option>
              {environments.map(({ environment_id, name }) => (
                <option key={environment_id} value={environment_id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Source">
          {(parts) => (
            <Select
              {...parts}
              value={draft.source}
              onChange={({ target }) => change({ source: target.value as CancelDraft["source"] })}
            >
              <option value="">Any</option>
              {runSources.map((value) => (
                <option key={value} value={value}>
                  {sourceLabels[value]}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {count.error && <ErrorAlert error={count.error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" variant="danger" busy={count.isPending}>
          Cancel matching runs…
        </Button>
        <p role="status" className="text-muted">
          {count.data?.remaining === 0 && "No matching runs"}
        </p>
      </div>
      {count.data && count.data.remaining > 0 && (
        <CancelProgress
          filter={filterOf(draft)}
          found={count.data.remaining}
          acceptsRuns={acceptsRuns}
          onClose={() => count.reset()}
        />
      )}
    </Form>
  );
}
