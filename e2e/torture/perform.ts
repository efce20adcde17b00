import { setTimeout as pause } from "node:timers/promises";
import type { Told } from "./evidence.ts";
import { strike } from "./faults.ts";
import type { Fault, Plan, PlannedRun } from "./plan.ts";
import type { World } from "./world.ts";

/** Plays a plan: clients ask and insist while things break. Resolves when all is acknowledged and nothing is broken. */
export async function perform(world: World, plan: Plan): Promise<Told> {
  const told: Told = { created: new Map(), followups: [], cancelled: [] };
  const began = performance.now();
  const moment = (at: number) => pause(Math.max(0, began + at - performance.now()));
  // What happens to one part happens in turn: nothing is stopped that was just killed.
  const byTarget = Map.groupBy(
    plan.faults,
    (fault) => `${fault.type === "cut" ? "link of " : ""}${fault.target}`,
  );
  const suffer = async (faults: Fault[]) => {
    for (const fault of faults) {
      await moment(fault.at);
      await strike(world, fault);
    }
  };
  await Promise.all([
    ...plan.runs.map((run) => act(world, run, { told, moment })),
    ...[...byTarget.values()].map(suffer),
  ]);
  return told;
}

async function act(
  { client, keys, environmentId }: World,
  { name, at, owner, inEnvironment, priority, script, acts }: PlannedRun,
  { told, moment }: { told: Told; moment(at: number): Promise<unknown> },
): Promise<void> {
  const key = keys[owner];
  await moment(at);
  const config = inEnvironment ? { config: { environment_id: environmentId } } : {};
  const body = { prompt: script.join("\n"), title: name, priority, ...config };
  const made = await client.insist({ path: "/agent/run", key, idempotencyKey: name, body });
  if (made.status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(made.body)}`);
  const run_id: string = made.body.run_id;
  told.created.set(name, run_id);
  for (const one of acts) {
    await moment(one.at);
    if (one.type === "followup") {
      await followUp({
        client,
        key,
        told,
        run_id,
        name: one.name,
        mode: one.mode,
        script: one.script.join("\n"),
      });
    } else {
      const path = `/agent/runs/${run_id}/cancel`;
      const { status, body: answer } = await client.insist({ path, key, idempotencyKey: one.name });
      if (status === 200) told.cancelled.push(run_id);
      // It had ended before.
      else if (status !== 409) throw new Error(`${one.name} was refused: ${JSON.stringify(answer)}`);
    }
  }
}

interface Message {
  client: World["client"];
  key: string;
  told: Told;
  run_id: string;
  name: string;
  mode: string;
  script: string;
}

export async function followUp({ client, key, told, run_id, name, mode, script }: Message): Promise<void> {
  const path = `/agent/runs/${run_id}/followups`;
  const body = { message: script, mode };
  const { status, body: answer } = await client.insist({ path, key, idempotencyKey: name, body });
  if (status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(answer)}`);
  told.followups.push({ followup_id: answer.followup_id, run_id, script });
}
