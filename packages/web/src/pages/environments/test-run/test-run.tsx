import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import { limits } from "@outrider/contract/limits";
import { RunAgentRequest } from "@outrider/contract/run";
import type { CloudEnvironment, RunAgentRequest as Request } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { outrider } from "../../../api.ts";
import { HarnessNote } from "../../../harnesses/harness-note.tsx";
import { offeredModels, useHarness } from "../../../harnesses/harnesses.ts";
import { queries } from "../../../queries.ts";
import { useServiceStatus } from "../../../service-status.ts";
import { Button } from "../../../ui/button.tsx";
import { PausedNotice } from "../../../ui/feedback/paused-notice.tsx";
import { SelectField, TextAreaField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { RunPreview } from "./run-preview.tsx";
import { testPrompt } from "./test-prompt.ts";

interface TestRunProps {
  environment: CloudEnvironment;
  /** The ID of the run that was started on this tab. */
  runId: string | undefined;
  isDirty: boolean;
}

/** Starts a real run in the saved environment and shows the run next to its prompt. */
export function TestRun({ environment, runId, isDirty }: TestRunProps) {
  const { environment_id, name, version } = environment;
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const harness = useHarness(environment.harness ?? DEFAULT_HARNESS);
  const offered = offeredModels(models?.models ?? [], harness);
  const standard = models?.default_model_id;
  const initial = offered.some(({ model_id }) => model_id === standard) ? standard : offered[0]?.model_id;
  const { acceptsRuns, message } = useServiceStatus();
  const form = useRequestForm({
    schema: RunAgentRequest,
    values: {
      prompt: undefined as string | undefined,
      config: { model_id: undefined as string | undefined },
    },
    requestOf: ({ prompt, config }) => ({
      prompt: prompt ?? promptFor(config.model_id),
      title: `Test of ${name}`.slice(0, limits.titleCharacters),
      config: { environment_id, model_id: config.model_id ?? initial },
    }),
    send: (request: Request) => outrider.runs.create(request),
    onSent: ({ run_id }) =>
      navigate({
        to: "/environments/$environmentId",
        params: { environmentId: environment_id },
        search: { tab: "test", run: run_id },
      }),
  });
  const promptFor = (modelId = initial) => (models ? testPrompt(environment, modelId) : "");
  const model = form.bind("config.model_id");
  const prompt = form.bind("prompt");
  const shownPrompt = prompt.value ?? promptFor(model.value);
  return (
    <div className="grid items-start gap-6 lg:grid-cols-2">
      <form {...form.attributes} className="flex flex-col gap-4">
        <p className="text-muted">
          Starts a run in version {version} and shows its progress. It is a regular run: it appears in the
          list of runs, and its model calls are billed.
          {isDirty && " Unsaved changes are not included."}
        </p>
        <TextAreaField
          label="Prompt"
          error={prompt.error}
          rows={7}
          value={shownPrompt}
          spellCheck={false}
          className="font-mono text-xs leading-5"
          onChange={({ target }) => prompt.onChange(target.value)}
        />
        <SelectField
          label="Model"
          error={model.error}
          hint={
            environment.harness &&
            harness && (
              <>
                {harness.title} executes the run. <HarnessNote name={harness.name} />
              </>
            )
          }
          value={model.value ?? initial ?? ""}
          onChange={({ target }) => model.onChange(target.value)}
        >
          {offered.map(({ model_id, available }) => (
            <option key={model_id} value={model_id} disabled={!available}>
              {model_id}
              {model_id === standard ? " (default)" : ""}
            </option>
          ))}
        </SelectField>
        {acceptsRuns ? (
          <FormErrors form={form} />
        ) : (
          <PausedNotice message={message}>New runs are paused. You can start the test later.</PausedNotice>
        )}
        <div>
          <Button
            type="submit"
            variant="primary"
            icon={<Play className="size-4" aria-hidden />}
            busy={form.isBusy}
            disabled={!shownPrompt.trim() || !acceptsRuns}
          >
            {runId ? "Test again" : "Start test run"}
          </Button>
        </div>
      </form>
      {runId ? (
        <RunPreview key={runId} runId={runId} />
      ) : (
        <div className="grid min-h-48 place-items-center rounded-xl border border-dashed border-line p-6 text-center text-muted">
          The run appears here.
        </div>
      )}
    </div>
  );
}
