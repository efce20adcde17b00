import { setTimeout as pause } from "node:timers/promises";
import type { Acknowledged } from "../chaos/history.ts";
import { type Random, randomFrom } from "../chaos/random.ts";
import type { Client } from "./client.ts";
import { type ObservedStream, readToEnd } from "./read-stream.ts";

const USERS = 6;

/** What servers acknowledged to the simulated users, and the event streams that the users read. */
export interface LoadResult {
  acknowledged: Acknowledged;
  streams: ObservedStream[];
}

/**
 * Simulates a few users until `until`. Each creates a run, reads its events until it ends, and lists runs meanwhile.
 * Some users send follow-ups or cancel the run. A user starts the next run when the last one has ended, so the load adapts
 * to the capacity of the service.
 */
export async function generateLoad(client: Client, until: number): Promise<LoadResult> {
  const result: LoadResult = {
    acknowledged: { created: new Map(), followups: [], cancelled: [] },
    streams: [],
  };
  const user = async (_: unknown, index: number) => {
    const random = randomFrom(index + 1);
    for (let count = 1; Date.now() < until && !client.isStopped; count++) {
      await driveRun({ client, random, result, name: `user-${index + 1}.run-${count}` });
    }
  };
  await Promise.all(Array.from({ length: USERS }, user));
  return result;
}

interface RunOptions {
  client: Client;
  random: Random;
  result: LoadResult;
  name: string;
}

async function driveRun({ client, random, result, name }: RunOptions): Promise<void> {
  const { acknowledged } = result;
  const created = await client.sendUntilAnswered({
    ...{ name: "create", method: "POST", path: "/agent/run", idempotencyKey: name },
    body: { prompt: scriptOf(random, name), title: name },
  });
  if (created.status !== 200) throw new Error(`${name} was rejected: ${JSON.stringify(created.body)}`);
  const runId: string = created.body.run_id;
  acknowledged.created.set(name, runId);
  const reading = readToEnd(client, runId, random);
  await readRunAndList(client, random, runId);
  for (let count = random.pick([0, 0, 1, 2]); count > 0; count--) {
    await pause(random.between(0, 400));
    await followUp({ client, random, result, name: `${name}.followup-${count}` }, runId);
  }
  await readRunAndList(client, random, runId);
  if (random.chance(0.15)) await cancel({ client, random, result, name: `${name}.cancel` }, runId);
  result.streams.push(await reading);
}

async function followUp({ client, random, result, name }: RunOptions, runId: string): Promise<void> {
  const script = scriptOf(random, name);
  const { status, body } = await client.sendUntilAnswered({
    ...{ name: "follow up", method: "POST", path: `/agent/runs/${runId}/followups`, idempotencyKey: name },
    body: { message: script, mode: random.pick(["auto", "queue"]) },
  });
  if (status !== 200) throw new Error(`${name} was rejected: ${JSON.stringify(body)}`);
  result.acknowledged.followups.push({ followup_id: body.followup_id, run_id: runId, script });
}

async function cancel({ client, result, name }: RunOptions, runId: string): Promise<void> {
  const path = `/agent/runs/${runId}/cancel`;
  const { status, body } = await client.sendUntilAnswered({
    ...{ name: "cancel", method: "POST", path, idempotencyKey: name },
  });
  if (status === 200) result.acknowledged.cancelled.push(runId);
  // A conflict means that the run had already ended.
  else if (status !== 409) throw new Error(`${name} was rejected: ${JSON.stringify(body)}`);
}

async function readRunAndList(client: Client, random: Random, runId: string): Promise<void> {
  const lists = [
    "",
    "?state=SUCCEEDED&limit=50",
    "?state=QUEUED&state=INPROGRESS",
    "?sort_by=title&limit=20",
  ];
  for (const path of [`/agent/runs/${runId}`, `/agent/runs${random.pick(lists)}`]) {
    const name = path.includes("?") || path.endsWith("runs") ? "list" : "get";
    const { status, body } = await client.sendUntilAnswered({ name, method: "GET", path });
    if (status !== 200) throw new Error(`GET ${path} returned ${status}: ${JSON.stringify(body)}`);
  }
  await pause(random.between(50, 300));
}

function scriptOf(random: Random, name: string): string {
  const lines = [`RUN: /outside/step ${name}.step-1 ${random.between(50, 300)}`];
  if (random.chance(0.3)) lines.unshift(`SAY: message of ${name}`);
  if (random.chance(0.2)) lines.push(`RUN: /outside/step ${name}.step-2 ${random.between(50, 300)}`);
  return lines.join("\n");
}
