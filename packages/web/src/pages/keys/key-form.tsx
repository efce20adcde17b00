import type { CreateKeyRequest, KeyType, Scope } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { queries } from "../../queries.ts";
import { Checkbox, Field, Select, TextInput } from "../../ui/field.tsx";
import { expiries, expiryOf } from "./expiry.ts";
import { scopeWords } from "./key-words.ts";
import { type Bounds, LimitFields, limitsFrom } from "./limit-fields.tsx";

interface KeyFormProps {
  id: string;
  type: KeyType;
  agentUid?: string | undefined;
  onSubmit: (request: CreateKeyRequest) => void;
}

const kinds: { type: KeyType; label: string; what: string }[] = [
  { type: "personal", label: "Personal", what: "Speaks for you: your scripts, your CI, your laptop." },
  { type: "agent", label: "Agent", what: "Speaks for a cloud agent and sees its runs alone." },
  { type: "worker", label: "Worker", what: "Lets a machine take runs and execute them. Nothing else." },
];

export function KeyForm({ id, type: first, agentUid = "", onSubmit }: KeyFormProps) {
  const { data: me } = useQuery(queries.me());
  const { data: identities = [] } = useQuery(queries.identities());
  const isAdmin = me?.role === "admin";
  const agents = identities.filter(({ owner_uid }) => isAdmin || owner_uid === me?.uid);
  const [type, setType] = useState(first);
  const [name, setName] = useState("");
  const [agent, setAgent] = useState(agentUid);
  const [scopes, setScopes] = useState<Scope[]>(["runs:read", "runs:write"]);
  const [expiry, setExpiry] = useState<string>(first === "worker" ? "never" : "90");
  const [date, setDate] = useState("");
  const [bounds, setBounds] = useState<Bounds>({ runs: "", cost: "", environments: [] });
  const possible: Scope[] = [
    "runs:read",
    "runs:write",
    ...(isAdmin && type === "personal" ? (["admin"] as const) : []),
  ];
  const granted = possible.filter((scope) => scopes.includes(scope));

  function submit(event: FormEvent) {
    event.preventDefault();
    const expires_at = expiryOf(expiry, date);
    const limits = limitsFrom(bounds);
    onSubmit({
      name: name.trim(),
      type,
      ...(type === "agent" ? { agent_uid: agent } : {}),
      ...(type === "worker" ? {} : { scopes: granted, ...(limits ? { limits } : {}) }),
      ...(expires_at ? { expires_at } : {}),
    });
  }

  return (
    <form id={id} onSubmit={submit} className="flex flex-col gap-5">
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium">For whom</legend>
        {kinds
          .filter((kind) => isAdmin || kind.type !== "worker")
          .map((kind) => (
            <label
              key={kind.type}
              className="flex items-start gap-3 rounded-md border border-line p-3 hover:bg-raised has-checked:border-accent has-checked:bg-accent-soft"
            >
              <input
                type="radio"
                name="type"
                checked={type === kind.type}
                onChange={() => setType(kind.type)}
                className="mt-0.5 size-4 shrink-0 accent-accent"
              />
              <span>
                <span className="block font-medium">{kind.label}</span>
                <span className="text-muted">{kind.what}</span>
              </span>
            </label>
          ))}
      </fieldset>
      {type === "agent" && (
        <Field
          label="Cloud agent"
          hint={agents.length === 0 ? "There is none yet: make one under Cloud agents first." : undefined}
        >
          {(parts) => (
            <Select {...parts} required value={agent} onChange={({ target }) => setAgent(target.value)}>
              <option value="">Choose one</option>
              {agents.map(({ uid, name }) => (
                <option key={uid} value={uid}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      <Field label="Name" hint="What uses it, so that you know what stops working when you revoke it.">
        {(parts) => (
          <TextInput
            {...parts}
            required
            maxLength={128}
            placeholder={type === "worker" ? "rack 2" : "ci of the web shop"}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      {type !== "worker" && (
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1.5 font-medium">It may</legend>
          {possible.map((scope, index) => (
            <Checkbox
              key={scope}
              label={scopeWords[scope]}
              hint={
                scope === "admin" ? "People, secrets, environments, workers, everybody's keys." : undefined
              }
              // A key that may do nothing is refused, so the browser asks for one of them.
              required={index === 0 && granted.length === 0}
              checked={scopes.includes(scope)}
              onChange={({ target }) =>
                setScopes(target.checked ? [...scopes, scope] : scopes.filter((other) => other !== scope))
              }
            />
          ))}
        </fieldset>
      )}
      <div className="flex flex-wrap items-start gap-3">
        <Field label="Expires" className="min-w-40 flex-1">
          {(parts) => (
            <Select {...parts} value={expiry} onChange={({ target }) => setExpiry(target.value)}>
              {expiries.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {expiry === "date" && (
          <Field label="On" className="min-w-40 flex-1">
            {(parts) => (
              <TextInput
                {...parts}
                type="date"
                required
                min={new Date().toISOString().slice(0, 10)}
                value={date}
                onChange={({ target }) => setDate(target.value)}
              />
            )}
          </Field>
        )}
      </div>
      {type !== "worker" && <LimitFields bounds={bounds} onChange={setBounds} />}
    </form>
  );
}
