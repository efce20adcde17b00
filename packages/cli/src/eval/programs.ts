import { type Outrider, WaitTimeoutError } from "@outrider/sdk";

/** The first run waits until the started worker is ready, which takes seconds even on a busy machine. */
const FIRST_RUN_TIMEOUT_MS = 3 * 60_000;

/**
 * Returns which of the programs sandboxes lack, because tasks that need them say nothing about a model. Fails if no
 * worker executes runs.
 */
export async function findMissingPrograms(
  names: string[],
  { client, signal }: { client: Outrider; signal: AbortSignal },
): Promise<Set<string>> {
  const programs = [...new Set(names)].filter((name) => /^[A-Za-z0-9._+-]+$/.test(name));
  const script = `RUN: for program in ${programs.join(" ")}; do command -v $program > /dev/null || echo missing:$program; done`;
  const { run_id } = await client.runs.create(
    {
      prompt: script,
      title: "Eval: find the programs in the sandbox",
      config: { model_id: "scripted", idle_timeout_minutes: 0 },
    },
    { signal },
  );
  const run = await client.runs
    .wait(run_id, { signal, timeout: FIRST_RUN_TIMEOUT_MS })
    .catch(async (error: unknown) => {
      await client.runs.cancel(run_id).catch(() => {});
      if (!(error instanceof WaitTimeoutError)) throw error;
      throw new Error("No worker executes runs. Check the log of the worker, or `outrider workers list`.");
    });
  if (run.state !== "SUCCEEDED")
    throw new Error(`The worker cannot execute runs: ${run.status_message?.message ?? run.state}`);
  let output = "";
  for await (const event of client.events.list(run_id, { limit: 500 }, { signal }))
    if (event.type === "command.output") output += event.data.text;
  return new Set(programs.filter((name) => output.split("\n").includes(`missing:${name}`)));
}
