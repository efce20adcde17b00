import type { KeyLimits } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Checkbox, Field, TextInput } from "../../ui/field.tsx";

/** As they are typed. */
export interface Bounds {
  runs: string;
  cost: string;
  environments: string[];
}

export function limitsFrom({ runs, cost, environments }: Bounds): KeyLimits | undefined {
  const limits: KeyLimits = {
    ...(runs ? { max_concurrent_runs: Number(runs) } : {}),
    ...(cost ? { max_cost_usd_per_day: Number(cost) } : {}),
    ...(environments.length > 0 ? { environment_ids: environments } : {}),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

export function LimitFields({ bounds, onChange }: { bounds: Bounds; onChange: (bounds: Bounds) => void }) {
  const { data: environments = [] } = useQuery(queries.environments());
  const set = (part: Partial<Bounds>) => onChange({ ...bounds, ...part });
  return (
    <Disclosure summary="Limits · optional">
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap gap-3">
          <Field label="Runs at once" hint="More of them wait in the queue." className="min-w-40 flex-1">
            {(parts) => (
              <TextInput
                {...parts}
                type="number"
                min={1}
                max={100_000}
                value={bounds.runs}
                onChange={({ target }) => set({ runs: target.value })}
              />
            )}
          </Field>
          <Field label="Dollars a day" hint="Beyond it no model is called." className="min-w-40 flex-1">
            {(parts) => (
              <TextInput
                {...parts}
                type="number"
                min={0.01}
                max={1_000_000}
                step={0.01}
                value={bounds.cost}
                onChange={({ target }) => set({ cost: target.value })}
              />
            )}
          </Field>
        </div>
        {environments.length > 0 && (
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1.5 font-medium">Only these environments</legend>
            {environments.map(({ environment_id: id, name }) => (
              <Checkbox
                key={id}
                label={name}
                checked={bounds.environments.includes(id)}
                onChange={({ target }) =>
                  set({
                    environments: target.checked
                      ? [...bounds.environments, id]
                      : bounds.environments.filter((other) => other !== id),
                  })
                }
              />
            ))}
            <p className="text-xs text-muted">With none of them checked it may use all.</p>
          </fieldset>
        )}
        <p className="text-xs text-muted">A key with limits cannot make further keys.</p>
      </div>
    </Disclosure>
  );
}
