import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { within } from "../torture/within.ts";
import type { Span } from "./level.ts";
import type { World } from "./world.ts";

/** How long a server may take to serve again once its database does. */
const RECOVER_MS = 30_000;
/** How long the address leads to a standby that is not promoted yet. */
const READ_ONLY_MS = 1_000;

export interface Outage extends Span {
  name: string;
  /** Until the database took writes again. */
  downMs: number;
  /** From then on until both servers took them. */
  recoveryMs: number;
}

/** PostgreSQL crashes and is started again on the same machine. */
export function restartDatabase(world: World): Promise<Outage> {
  return outage(world, "restart", () => world.pair.restart());
}

/**
 * The primary is lost for good. Its address moves to the standby, which is promoted a moment later: until then whoever
 * writes is refused by a database that reads very well.
 */
export function failOver(world: World): Promise<Outage> {
  const { pair, address } = world;
  return outage(world, "fail-over", async () => {
    address.cut("broken");
    await pair.losePrimary();
    address.turnTo({ path: pair.standbySocket() });
    address.heal();
    await pause(READ_ONLY_MS);
    await pair.promote();
  });
}

async function outage(world: World, name: string, strike: () => Promise<void>): Promise<Outage> {
  const from = Date.now();
  await strike();
  const up = Date.now();
  await Promise.all(world.client.servers.map((server) => takesWrites(world, server, name)));
  const to = Date.now();
  return { name, from, to, downMs: up - from, recoveryMs: to - up };
}

function takesWrites({ client }: World, server: string, after: string): Promise<void> {
  return within(RECOVER_MS, `${server} takes writes after the ${after}`, async () => {
    const body = { name: `after the ${after}, ${randomUUID()}` };
    const reply = await client.send(server, {
      name: "probe",
      method: "POST",
      path: "/agent/identities",
      body,
    });
    return reply !== undefined && reply.status < 300;
  });
}
