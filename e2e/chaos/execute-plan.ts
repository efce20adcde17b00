import { setTimeout as pause } from "node:timers/promises";
import { injectFault } from "./faults.ts";
import type { Acknowledged } from "./history.ts";
import type { Installation } from "./installation.ts";
import type { Plan, PlannedFault, PlannedRun } from "./plan.ts";

/**
 * Sends the requests of a plan while its faults happen. Resolves with the acknowledged requests once every request is
 * answered and every fault is reverted.
 */
export async function executePlan(installation: Installation, plan: Plan): Promise<Acknowledged> {
  const acknowledged: Acknowledged = { created: new Map(), followups: [], cancelled: [] };
  const start = performance.now();
  const waitUntil = (at: number) => pause(Math.max(0, start + at - performance.now()));
  // Faults of one target happen in turn, so that no fault pauses a process that another has just killed.
  const byTarget = Map.groupBy(
    plan.faults,
    (fault) => `${fault.type === "disconnect" ? "proxy of " : ""}${fault.target}`,
  );
  const injectInTurn = async (faults: PlannedFault[]) => {
    for (const fault of faults) {
      await waitUntil(fault.at);
      await injectFault(installation, fault);
    }
  };
  await Promise.all([
    ...plan.runs.map((run) => driveRun(installation, run, { acknowledged, waitUntil })),
    ...[...byTarget.values()].map(injectInTurn),
  ]);
  return acknowledged;
}

async function driveRun(
  { client, keys, environmentId }: Installation,
  { name, at, owner, inEnvironment, priority, script, actions }: PlannedRun,
  { acknowledged, waitUntil }: { acknowledged: Acknowledged; waitUntil(at: number): Promise<unknown> },
): Promise<void> {
  const key = keys[owner];
  await waitUntil(at);
  const config = inEnvironment ? { config: { environment_id: environmentId } } : {};
  const body = { prompt: script.join("\n"), title: name, priority, ...config };
  const created = await client.sendUntilAnswered({ path: "/agent/run", key, idempotencyKey: name, body });
  if (created.status !== 200) throw new Error(`${name} was rejected: ${JSON.stringify(created.body)}`);
  const run_id: string = created.body.run_id;
  acknowledged.created.set(name, run_id);
  for (const action of actions) {
    await waitUntil(action.at);
    if (action.type === "followup") {
      await followUp({
        client,
        key,
        acknowledged,
        run_id,
        name: action.name,
        mode: action.mode,
        script: action.script.join("\n"),
      });
    } else {
      const path = `/agent/runs/${run_id}/cancel`;
      const { status, body: answer } = await client.sendUntilAnswered({
        path,
        key,
        idempotencyKey: action.name,
      });
      if (status === 200) acknowledged.cancelled.push(run_id);
      // A conflict means that the run had already ended.
      else if (status !== 409) throw new Error(`${action.name} was rejected: ${JSON.stringify(answer)}`);
    }
  }
}

interface FollowupRequest {
  client: Installation["client"];
  key: string;
  acknowledged: Acknowledged;
  run_id: string;
  name: string;
  mode: string;
  script: string;
}

export async function followUp({
  client,
  key,
  acknowledged,
  run_id,
  name,
  mode,
  script,
}: FollowupRequest): Promise<void> {
  const path = `/agent/runs/${run_id}/followups`;
  const body = { message: script, mode };
  const { status, body: answer } = await client.sendUntilAnswered({ path, key, idempotencyKey: name, body });
  if (status !== 200) throw new Error(`${name} was rejected: ${JSON.stringify(answer)}`);
  acknowledged.followups.push({ followup_id: answer.followup_id, run_id, script });
}
