import type { CloudAgent, CloudAgentRequest } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { outrider } from "../../api.ts";
import { type Faults, faultsOf } from "../../faults.ts";
import { queries, queryClient } from "../../queries.ts";
import { announce } from "../../shell/announcements.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Select, TextArea, TextInput } from "../../ui/field.tsx";
import { FormTrouble } from "../../ui/form-trouble.tsx";

interface AgentSheetProps {
  /** One to change; without it a new one is made. */
  agent?: CloudAgent;
  onClose: () => void;
}

interface Draft {
  name: string;
  description: string;
  model: string;
  environment: string;
  runs: string;
}

function requestOf({ name, description, model, environment, runs }: Draft): CloudAgentRequest {
  return {
    name: name.trim(),
    ...(description.trim() ? { description: description.trim() } : {}),
    ...(model ? { model_id: model } : {}),
    ...(environment ? { environment_id: environment } : {}),
    ...(runs.trim() ? { max_concurrent_runs: Number(runs) } : {}),
  };
}

export function AgentSheet({ agent, onClose }: AgentSheetProps) {
  const form = useId();
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const { data: environments = [] } = useQuery(queries.environments());
  const [draft, setDraft] = useState<Draft>({
    name: agent?.name ?? "",
    description: agent?.description ?? "",
    model: agent?.model_id ?? "",
    environment: agent?.environment_id ?? "",
    runs: String(agent?.max_concurrent_runs ?? ""),
  });
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const saving = useMutation({
    mutationFn: () =>
      agent
        ? outrider.identities.replace(agent.uid, requestOf(draft))
        : outrider.identities.create(requestOf(draft)),
    onSuccess: ({ uid, name }) => {
      void queryClient.invalidateQueries({ queryKey: ["identities"] });
      onClose();
      if (agent) return announce(`${name} is saved`);
      announce(`${name} is made. Now give it a key.`);
      void navigate({ to: "/keys", search: { agent: uid } });
    },
  });
  const isNumber = draft.runs.trim() === "" || Number.isFinite(Number(draft.runs));
  const own: Faults = isNumber ? {} : { "/max_concurrent_runs": "Must be a number." };
  const faults = { ...faultsOf(saving.error), ...own };
  return (
    <Dialog
      open
      sheet
      keeps
      onClose={onClose}
      title={agent ? `Edit ${agent.name}` : "New cloud agent"}
      description={agent ? undefined : "A key for it comes next."}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            look="primary"
            busy={saving.isPending}
            disabled={!draft.name.trim() || !isNumber}
          >
            {agent ? "Save changes" : "Create cloud agent"}
          </Button>
        </>
      }
    >
      <form
        id={form}
        noValidate
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (draft.name.trim() && isNumber) saving.mutate();
        }}
      >
        <FormTrouble error={saving.error} short />
        <Field label="Name" error={faults["/name"]}>
          {(parts) => (
            <TextInput
              {...parts}
              required
              data-autofocus
              value={draft.name}
              placeholder="release-bot"
              onChange={({ target }) => change({ name: target.value })}
            />
          )}
        </Field>
        <Field label="Description" optional error={faults["/description"]}>
          {(parts) => (
            <TextArea
              {...parts}
              value={draft.description}
              placeholder="What it does, and who looks after it"
              onChange={({ target }) => change({ description: target.value })}
            />
          )}
        </Field>
        <Field label="Model" error={faults["/model_id"]} hint="Of its runs, where they name none.">
          {(parts) => (
            <Select {...parts} value={draft.model} onChange={({ target }) => change({ model: target.value })}>
              <option value="">the default{models ? `, ${models.default_model_id}` : ""}</option>
              {draft.model && !models?.models.some(({ model_id }) => model_id === draft.model) && (
                <option value={draft.model}>{draft.model}</option>
              )}
              {models?.models.map(({ model_id, available }) => (
                <option key={model_id} value={model_id} disabled={!available}>
                  {model_id}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label="Environment"
          error={faults["/environment_id"]}
          hint="Of its runs, where they name none."
        >
          {(parts) => (
            <Select
              {...parts}
              value={draft.environment}
              onChange={({ target }) => change({ environment: target.value })}
            >
              <option value="">none: an empty workspace</option>
              {draft.environment &&
                !environments.some(({ environment_id }) => environment_id === draft.environment) && (
                  <option value={draft.environment}>one that was deleted</option>
                )}
              {environments.map(({ environment_id, name }) => (
                <option key={environment_id} value={environment_id}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label="Runs at once"
          optional
          error={faults["/max_concurrent_runs"]}
          hint="More of its runs wait until one of them is done. Default: no limit of its own."
        >
          {(parts) => (
            <TextInput
              {...parts}
              inputMode="numeric"
              value={draft.runs}
              onChange={({ target }) => change({ runs: target.value })}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
