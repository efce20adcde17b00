import { KeyType } from "@outrider/contract/auth/key";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../queries.ts";
import { Checkboxes, SelectField, TextField } from "../../ui/form/fields.tsx";
import type { RequestForm } from "../../ui/form/use-request-form.ts";
import { expiries } from "./expiry.ts";
import { scopeLabels, typeDescriptions, typeLabels } from "./key-labels.ts";
import { type KeyValues, possibleScopes } from "./key-values.ts";
import { LimitFields } from "./limit-fields.tsx";

/** Shows the fields of a new key. */
export function KeyFields({ form, isAdmin }: { form: RequestForm<KeyValues>; isAdmin: boolean }) {
  const { data: me } = useQuery(queries.me());
  const { data: identities = [] } = useQuery(queries.identities());
  const agents = identities.filter(({ owner_uid }) => isAdmin || owner_uid === me?.uid);
  const { value: type, onChange: setType } = form.bind("type");
  return (
    <>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium">Type</legend>
        {KeyType.options
          .filter((each) => isAdmin || each !== "worker")
          .map((each) => (
            <label
              key={each}
              className="flex items-start gap-3 rounded-md border border-line p-3 hover:bg-raised has-checked:border-accent has-checked:bg-accent-soft"
            >
              <input
                type="radio"
                name="type"
                checked={type === each}
                onChange={() => setType(each)}
                className="mt-0.5 size-4 shrink-0 accent-accent"
              />
              <span>
                <span className="block font-medium">{typeLabels[each]}</span>
                <span className="text-muted">{typeDescriptions[each]}</span>
              </span>
            </label>
          ))}
      </fieldset>
      {type === "agent" && (
        <SelectField
          label="Cloud agent"
          {...form.select("agent_uid")}
          hint={agents.length === 0 ? "No cloud agents yet. Create one under Cloud agents first." : undefined}
          required
        >
          <option value="">Select a cloud agent</option>
          {agents.map(({ uid, name }) => (
            <option key={uid} value={uid}>
              {name}
            </option>
          ))}
        </SelectField>
      )}
      <TextField
        label="Name"
        {...form.field("name")}
        hint="What uses the key, so that you know what stops working when you revoke it."
        required
        placeholder={type === "worker" ? "rack 2" : "web shop CI"}
      />
      {type !== "worker" && (
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1.5 font-medium">Permissions</legend>
          <Checkboxes
            label="Permissions"
            {...form.bind("scopes")}
            options={possibleScopes(type, isAdmin).map((value) => ({
              value,
              label: scopeLabels[value],
              hint: value === "admin" ? "Users, secrets, environments, workers and all keys." : undefined,
            }))}
          />
        </fieldset>
      )}
      <div className="flex flex-wrap items-start gap-3">
        <SelectField label="Expires" {...form.select("expiry")} fieldClassName="min-w-40 flex-1">
          {expiries.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        {form.watch("expiry") === "date" && (
          <TextField
            label="Date"
            {...form.field("date")}
            fieldClassName="min-w-40 flex-1"
            type="date"
            required
            min={new Date().toISOString().slice(0, 10)}
          />
        )}
      </div>
      {type !== "worker" && <LimitFields form={form} />}
    </>
  );
}
