import type { CloudEnvironment } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { outrider } from "../../api.ts";
import { faultAt, faultsOf } from "../../faults.ts";
import { queries } from "../../queries.ts";
import { useStanding } from "../../standing.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Select, TextArea } from "../../ui/field.tsx";
import { FormTrouble } from "../../ui/form-trouble.tsx";
import { Stopped } from "../../ui/stopped.tsx";
import { RunLook } from "./run-look.tsx";
import { testPrompt } from "./test-script.ts";

interface TestRunProps {
  environment: CloudEnvironment;
  /** One that was started here. */
  runId: string | undefined;
  isDirty: boolean;
}

/** A real run in the environment as it is stored, watched beside its prompt. */
export function TestRun({ environment, runId, isDirty }: TestRunProps) {
  const { environment_id, name, version } = environment;
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const { takesRuns, message } = useStanding();
  const [chosenModel, setModel] = useState<string>();
  const [typed, setTyped] = useState<string>();
  const modelId = chosenModel ?? models?.default_model_id;
  const prompt = typed ?? (models ? testPrompt(environment, modelId) : "");
  const starting = useMutation({
    mutationFn: () =>
      outrider.runs.create({
        prompt,
        title: `Test of ${name}`.slice(0, 256),
        config: { environment_id, ...(modelId ? { model_id: modelId } : {}) },
      }),
    onSuccess: ({ run_id }) =>
      navigate({
        to: "/environments/$environmentId",
        params: { environmentId: environment_id },
        search: { tab: "test", run: run_id },
      }),
  });
  const faults = faultsOf(starting.error);
  return (
    <div className="grid items-start gap-6 lg:grid-cols-2">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          starting.mutate();
        }}
      >
        <p className="text-muted">
          Starts a run in version {version} and shows what it does. It is a run like any other: it is listed,
          and it costs what its model costs.
          {isDirty && " What you changed and did not save is not part of it."}
        </p>
        <Field label="What to try" error={faultAt(faults, "/prompt")}>
          {(parts) => (
            <TextArea
              {...parts}
              rows={7}
              value={prompt}
              spellCheck={false}
              className="font-mono text-xs leading-5"
              onChange={({ target }) => setTyped(target.value)}
            />
          )}
        </Field>
        <Field label="Model" error={faultAt(faults, "/config/model_id")}>
          {(parts) => (
            <Select {...parts} value={modelId ?? ""} onChange={({ target }) => setModel(target.value)}>
              {(models?.models ?? []).map(({ model_id, available }) => (
                <option key={model_id} value={model_id} disabled={!available}>
                  {model_id}
                  {model_id === models?.default_model_id ? " (default)" : ""}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {takesRuns ? (
          <FormTrouble error={starting.error} />
        ) : (
          <Stopped message={message}>New runs are not taken now. What you typed stays.</Stopped>
        )}
        <div>
          <Button
            type="submit"
            look="primary"
            icon={<Play className="size-4" aria-hidden />}
            busy={starting.isPending}
            disabled={!prompt.trim() || !takesRuns}
          >
            {runId ? "Test again" : "Start test run"}
          </Button>
        </div>
      </form>
      {runId ? (
        <RunLook key={runId} runId={runId} />
      ) : (
        <div className="grid min-h-48 place-items-center rounded-xl border border-dashed border-line p-6 text-center text-muted">
          The run shows here as it happens.
        </div>
      )}
    </div>
  );
}
