import { setTimeout as pause } from "node:timers/promises";
import type { Told } from "../torture/evidence.ts";
import { type Random, randomFrom } from "../torture/random.ts";
import type { Client } from "./client.ts";
import { readToTheEnd, type Seen } from "./stream.ts";

const PEOPLE = 6;

/** What the people who use the service were told and shown. */
export interface Outcome {
  told: Told;
  seen: Seen[];
}

/**
 * A few people at work until `until`. Each creates a run, reads along until it ends, looks at lists meanwhile, and
 * sometimes writes to the run or cancels it; then comes the next run. So the load follows what the service can take.
 */
export async function work(client: Client, until: number): Promise<Outcome> {
  const outcome: Outcome = { told: { created: new Map(), followups: [], cancelled: [] }, seen: [] };
  const person = async (_: unknown, index: number) => {
    const random = randomFrom(index + 1);
    for (let count = 1; Date.now() < until && !client.isDone; count++) {
      await oneRun({ client, random, outcome, name: `person-${index + 1}.run-${count}` });
    }
  };
  await Promise.all(Array.from({ length: PEOPLE }, person));
  return outcome;
}

interface OneRun {
  client: Client;
  random: Random;
  outcome: Outcome;
  name: string;
}

async function oneRun({ client, random, outcome, name }: OneRun): Promise<void> {
  const { told } = outcome;
  const made = await client.insist({
    ...{ name: "create", method: "POST", path: "/agent/run", idempotencyKey: name },
    body: { prompt: scriptOf(random, name), title: name },
  });
  if (made.status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(made.body)}`);
  const runId: string = made.body.run_id;
  told.created.set(name, runId);
  const reading = readToTheEnd(client, runId, random);
  await look(client, random, runId);
  for (let count = random.pick([0, 0, 1, 2]); count > 0; count--) {
    await pause(random.between(0, 400));
    await followUp({ client, random, outcome, name: `${name}.followup-${count}` }, runId);
  }
  await look(client, random, runId);
  if (random.chance(0.15)) await cancel({ client, random, outcome, name: `${name}.cancel` }, runId);
  outcome.seen.push(await reading);
}

async function followUp({ client, random, outcome, name }: OneRun, runId: string): Promise<void> {
  const script = scriptOf(random, name);
  const { status, body } = await client.insist({
    ...{ name: "follow up", method: "POST", path: `/agent/runs/${runId}/followups`, idempotencyKey: name },
    body: { message: script, mode: random.pick(["auto", "queue"]) },
  });
  if (status !== 200) throw new Error(`${name} was refused: ${JSON.stringify(body)}`);
  outcome.told.followups.push({ followup_id: body.followup_id, run_id: runId, script });
}

async function cancel({ client, outcome, name }: OneRun, runId: string): Promise<void> {
  const path = `/agent/runs/${runId}/cancel`;
  const { status, body } = await client.insist({
    ...{ name: "cancel", method: "POST", path, idempotencyKey: name },
  });
  if (status === 200) outcome.told.cancelled.push(runId);
  // It had ended before.
  else if (status !== 409) throw new Error(`${name} was refused: ${JSON.stringify(body)}`);
}

async function look(client: Client, random: Random, runId: string): Promise<void> {
  const lists = [
    "",
    "?state=SUCCEEDED&limit=50",
    "?state=QUEUED&state=INPROGRESS",
    "?sort_by=title&limit=20",
  ];
  for (const path of [`/agent/runs/${runId}`, `/agent/runs${random.pick(lists)}`]) {
    const name = path.includes("?") || path.endsWith("runs") ? "list" : "get";
    const { status, body } = await client.insist({ name, method: "GET", path });
    if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`);
  }
  await pause(random.between(50, 300));
}

function scriptOf(random: Random, name: string): string {
  const lines = [`RUN: /outside/step ${name}.step-1 ${random.between(50, 300)}`];
  if (random.chance(0.3)) lines.unshift(`SAY: words of ${name}`);
  if (random.chance(0.2)) lines.push(`RUN: /outside/step ${name}.step-2 ${random.between(50, 300)}`);
  return lines.join("\n");
}
