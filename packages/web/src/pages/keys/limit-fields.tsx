import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Checkboxes, TextField } from "../../ui/form/fields.tsx";
import { parseNumber, type RequestForm } from "../../ui/form/use-request-form.ts";
import type { KeyValues } from "./key-values.ts";

export function LimitFields({ form }: { form: RequestForm<KeyValues> }) {
  const { data: environments = [] } = useQuery(queries.environments());
  return (
    <Disclosure summary="Limits · optional">
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap gap-3">
          <TextField
            label="Concurrent runs"
            {...form.field("limits.max_concurrent_runs", parseNumber)}
            hint="Further runs wait in the queue."
            fieldClassName="min-w-40 flex-1"
            inputMode="numeric"
          />
          <TextField
            label="Daily budget (USD)"
            {...form.field("limits.max_cost_usd_per_day", parseNumber)}
            hint="No further model calls are made once it is spent."
            fieldClassName="min-w-40 flex-1"
            inputMode="decimal"
          />
        </div>
        {environments.length > 0 && (
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1.5 font-medium">Only these environments</legend>
            <Checkboxes
              label="Environment"
              {...form.bind("limits.environment_ids")}
              options={environments.map(({ environment_id, name }) => ({
                value: environment_id,
                label: name,
              }))}
            />
            <p className="text-xs text-muted">If none is selected, the key can use all environments.</p>
          </fieldset>
        )}
        <p className="text-xs text-muted">A key with limits cannot create other keys.</p>
      </div>
    </Disclosure>
  );
}
