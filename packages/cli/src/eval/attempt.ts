import type { Outrider, RunItem } from "@outrider/sdk";
import { describeEnd, judgeAnswer, judgePatch, readAnswer } from "./judge.ts";
import type { EvalResult, EvalTask, ScriptedAnswer } from "./task.ts";

export interface RunSettings {
  maxSteps?: number;
  maxCostUsd?: number;
  timeoutMinutes?: number;
}

export interface AttemptOptions {
  client: Outrider;
  environmentId: string;
  model: string;
  harness?: string;
  attempt: number;
  scripted?: "solution" | "wrong";
  settings: RunSettings;
  evalId: string;
  signal: AbortSignal;
}

const DEFAULT_MAX_STEPS = 60;
const DEFAULT_TIMEOUT_MINUTES = 20;

/** Executes a task once with a model and a harness, and judges the result. */
export async function attemptTask(task: EvalTask, options: AttemptOptions): Promise<EvalResult> {
  const { client, environmentId, model, harness, attempt, scripted, signal, evalId } = options;
  const chosenHarness = harness === undefined ? {} : { harness };
  const metadata = { eval_id: evalId, eval_task: task.name.slice(0, 200) };
  const known = scripted && task.scripted[scripted];
  const result: EvalResult = {
    ...{ task: task.name, kind: task.kind, model, ...chosenHarness, attempt },
    ...(scripted ? { scripted } : {}),
    ...{
      isSolved: false,
      isError: false,
      steps: 0,
      inputTokens: 0,
      outputTokens: 0,
      costUsd: 0,
      durationMs: 0,
    },
  };
  let run: RunItem | undefined;
  try {
    const { run_id } = await client.runs.create(
      {
        prompt: known ? scriptFor(known, harness) : task.prompt,
        title: `Eval ${task.name}`,
        config: {
          ...{ model_id: model, ...chosenHarness },
          ...{ environment_id: environmentId, idle_timeout_minutes: 0 },
        },
        limits: limitsOf(task, options.settings),
        ...(task.outputSchema ? { output_schema: task.outputSchema } : {}),
        ...(known?.patch ? { attachments: [attach(known.patch)] } : {}),
        metadata: { ...metadata, eval_role: "agent" },
      },
      { signal },
    );
    result.runId = run_id;
    run = await client.runs.wait(run_id, { signal });
    addUsage(result, run);
    if (run.state === "BLOCKED") {
      await client.runs.cancel(run_id, { signal });
      return { ...result, reason: `The agent asked a question: ${run.status_message?.message ?? ""}` };
    }
    if (run.state !== "SUCCEEDED") return { ...result, reason: `The run ended with ${describeEnd(run)}` };
    const wrongAnswer = judgeAnswer(task, run, await readAnswer(client, run_id, signal));
    if (wrongAnswer) return { ...result, reason: wrongAnswer };
    if (task.judge.command === undefined && !task.judge.isUnchanged) return { ...result, isSolved: true };
    const patch = Buffer.from(await client.runs.diff(run_id, { signal }));
    const verdict = await judgePatch(task, patch, { client, environmentId, metadata, signal });
    return {
      ...result,
      ...{ isSolved: verdict.isSolved, isError: verdict.isError ?? false },
      ...(verdict.reason ? { reason: verdict.reason } : {}),
      ...(verdict.runId ? { judgeRunId: verdict.runId } : {}),
      ...(verdict.output ? { judgeOutput: verdict.output } : {}),
    };
  } catch (error) {
    if (signal.aborted) {
      // Without this, the run of an interrupted evaluation would continue on a shared server.
      if (result.runId) await client.runs.cancel(result.runId).catch(() => {});
      throw error;
    }
    return { ...result, isError: true, reason: `The attempt failed: ${(error as Error).message}` };
  }
}

/** Only Outrider's own agent has the tool `finish`. The structured answer of others is their last message. */
function scriptFor({ script }: ScriptedAnswer, harness = "outrider"): string {
  return harness === "outrider" ? script : script.replaceAll(/^CALL: finish /gm, "SAY: ");
}

function limitsOf({ maxSteps: ownSteps }: EvalTask, settings: RunSettings) {
  const { maxSteps = ownSteps ?? DEFAULT_MAX_STEPS, maxCostUsd, timeoutMinutes } = settings;
  return {
    max_steps: maxSteps,
    timeout_minutes: timeoutMinutes ?? DEFAULT_TIMEOUT_MINUTES,
    ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
  };
}

function attach(patch: NonNullable<ScriptedAnswer["patch"]>) {
  return { file_name: "change.patch", mime_type: "text/x-diff", data: patch.toString("base64") };
}

function addUsage(result: EvalResult, { usage }: RunItem): void {
  result.steps = usage.steps;
  result.inputTokens = usage.input_tokens;
  result.outputTokens = usage.output_tokens;
  result.costUsd = usage.cost_usd;
  result.durationMs = Math.round(usage.run_seconds * 1_000);
}
