import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox, Field, Select, TextInput } from "../../ui/field.tsx";
import { Problem } from "../../ui/problem.tsx";
import { stateWords } from "../../ui/run-state.tsx";
import { sources, sourceWords } from "../runs/search.ts";
import { anyRun, type CancelDraft, filterOf, openStates } from "./cancel-filter.ts";
import { CancelProgress } from "./cancel-progress.tsx";

/** Chooses what to end and counts it. Nothing ends before somebody has seen the number. */
export function CancelAll({ isTaking }: { isTaking: boolean }) {
  const [draft, setDraft] = useState(anyRun);
  const { data: environments = [] } = useQuery(queries.environments());
  const { data: people = [] } = useQuery(queries.people());
  const { data: identities = [] } = useQuery(queries.identities());
  const count = useMutation({
    mutationFn: (filter: ReturnType<typeof filterOf>) => outrider.brake.cancelRuns({ filter, dry_run: true }),
  });
  // A number that was counted for other filters is not the answer to these.
  const change = (part: Partial<CancelDraft>) => {
    setDraft({ ...draft, ...part });
    count.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    count.mutate(filterOf(draft));
  };
  return (
    <form aria-label="Cancel runs" className="flex flex-col gap-4" onSubmit={submit}>
      <fieldset className="flex flex-wrap gap-x-6 gap-y-2">
        <legend className="pb-2 font-medium">
          State<span className="font-normal text-muted"> · any, where none is chosen</span>
        </legend>
        {openStates.map((state) => (
          <Checkbox
            key={state}
            label={stateWords[state]}
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
        <Field label="Name" hint="The label that runs of one kind have, as a whole.">
          {(parts) => (
            <TextInput
              {...parts}
              maxLength={128}
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
              <option value="">Anybody</option>
              {people.map(({ uid, display_name, email }) => (
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
              <option value="">Any, or none</option>
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
              {sources.map((value) => (
                <option key={value} value={value}>
                  {sourceWords[value]}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {count.error && <Problem error={count.error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" look="danger" busy={count.isPending}>
          Cancel all runs…
        </Button>
        <p role="status" className="text-muted">
          {count.data?.remaining === 0 && "There is no such run."}
        </p>
      </div>
      {count.data && count.data.remaining > 0 && (
        <CancelProgress
          filter={filterOf(draft)}
          found={count.data.remaining}
          isTaking={isTaking}
          onClose={() => count.reset()}
        />
      )}
    </form>
  );
}
