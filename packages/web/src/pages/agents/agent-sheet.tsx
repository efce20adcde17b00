import { ReasoningEffort } from "@outrider/contract/agent-config";
import { IdentityRequest } from "@outrider/contract/auth/identity";
import type { Identity, IdentityRequest as Request } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { outrider } from "../../api.ts";
import { showToast } from "../../frame/toasts.ts";
import { HarnessNote } from "../../harnesses/harness-note.tsx";
import { HarnessOptions } from "../../harnesses/harness-options.tsx";
import { offeredModels, useDefaultHarness, useHarness, useModelProblem } from "../../harnesses/harnesses.ts";
import { queries, queryClient } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextAreaField, TextField } from "../../ui/form/fields.tsx";
import { FormErrors } from "../../ui/form/form-errors.tsx";
import { parseNumber, useRequestForm } from "../../ui/form/use-request-form.ts";
import { Dialog } from "../../ui/overlay/dialog.tsx";

interface AgentSheetProps {
  /** The cloud agent to edit. If absent, the form creates a new one. */
  agent?: Identity;
  onClose: () => void;
}

export function AgentSheet({ agent, onClose }: AgentSheetProps) {
  const id = useId();
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const { data: environments = [] } = useQuery(queries.environments());
  const form = useRequestForm({
    schema: IdentityRequest,
    values: {
      name: agent?.name,
      description: agent?.description,
      harness: agent?.harness,
      model_id: agent?.model_id,
      reasoning_effort: agent?.reasoning_effort,
      environment_id: agent?.environment_id,
      max_concurrent_runs: agent?.max_concurrent_runs,
    },
    send: (request: Request) =>
      agent ? outrider.identities.replace(agent.uid, request) : outrider.identities.create(request),
    onSent: ({ uid }) => {
      void queryClient.invalidateQueries({ queryKey: ["identities"] });
      onClose();
      if (agent) return showToast("Cloud agent saved");
      showToast("Cloud agent created. Now create a key for it.");
      void navigate({ to: "/keys", search: { agent: uid } });
    },
  });
  const { model_id: model, environment_id: environment } = agent ?? {};
  const standard = useHarness(useDefaultHarness(form.watch("environment_id")));
  const chosen = useHarness(form.watch("harness") ?? "");
  const harness = chosen ?? standard;
  const problem = useModelProblem(harness?.name ?? "", form.watch("model_id"));
  const offered = offeredModels(models?.models ?? [], harness);
  const modelField = form.select("model_id");
  return (
    <Dialog
      open
      sheet
      keepOpen
      onClose={onClose}
      title={agent ? `Edit ${agent.name}` : "New cloud agent"}
      description={agent ? undefined : "You create its key in the next step."}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} variant="primary" busy={form.isBusy}>
            {agent ? "Save changes" : "Create cloud agent"}
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        <FormErrors form={form} visuallyHidden />
        <TextField label="Name" {...form.field("name")} required data-autofocus placeholder="release-bot" />
        <TextAreaField
          label="Description"
          {...form.field("description")}
          optional
          placeholder="What it does and who maintains it"
        />
        <SelectField
          label="Harness"
          {...form.select("harness")}
          hint={
            <>
              The program that executes this agent's runs, by default.{" "}
              {harness && <HarnessNote name={harness.name} />}
            </>
          }
        >
          <option value="">Default{standard ? ` (${standard.title})` : ""}</option>
          <HarnessOptions value={form.watch("harness") ?? ""} />
        </SelectField>
        <SelectField
          label="Model"
          {...modelField}
          error={problem ?? modelField.error}
          hint="Default for this agent's runs."
        >
          <option value="">Default{models ? ` (${models.default_model_id})` : ""}</option>
          {model && !offered.some(({ model_id }) => model_id === model) && (
            <option value={model}>{model}</option>
          )}
          {offered.map(({ model_id, available }) => (
            <option key={model_id} value={model_id} disabled={!available}>
              {model_id}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Reasoning effort"
          {...form.select("reasoning_effort")}
          hint="Default for this agent's runs, if their model has one."
        >
          <option value="">Default of the model</option>
          {ReasoningEffort.options.map((effort) => (
            <option key={effort} value={effort}>
              {effort}
            </option>
          ))}
        </SelectField>
        <SelectField
          label="Environment"
          {...form.select("environment_id")}
          hint="Default for this agent's runs."
        >
          <option value="">None (empty workspace)</option>
          {environment && !environments.some(({ environment_id }) => environment_id === environment) && (
            <option value={environment}>Deleted environment</option>
          )}
          {environments.map(({ environment_id, name }) => (
            <option key={environment_id} value={environment_id}>
              {name}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Concurrent runs"
          {...form.field("max_concurrent_runs", parseNumber)}
          optional
          hint="Further runs wait in the queue. Default: no limit."
          inputMode="numeric"
        />
      </form>
    </Dialog>
  );
}
