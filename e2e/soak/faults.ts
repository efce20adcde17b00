import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { waitFor } from "../chaos/wait-for.ts";
import type { Span } from "./growth.ts";
import type { Installation } from "./installation.ts";

/** How long a server may take to accept writes after its database does. */
const RECOVER_MS = 30_000;
/** How long the address points to the standby before its promotion. */
const READ_ONLY_MS = 1_000;

export interface Outage extends Span {
  name: string;
  /** How long the database accepted no writes. */
  downMs: number;
  /** How long it then took until both servers accepted writes. */
  recoveryMs: number;
}

/** Crashes PostgreSQL and starts it again on the same files. */
export function restartDatabase(installation: Installation): Promise<Outage> {
  return measureOutage(installation, "restart", () => installation.postgres.restart());
}

/**
 * Loses the primary for good. Its address moves to the standby, which is promoted a moment later. Until then the database
 * serves reads and rejects writes.
 */
export function failOver(installation: Installation): Promise<Outage> {
  const { postgres, address } = installation;
  return measureOutage(installation, "failover", async () => {
    address.disconnect("reset");
    await postgres.losePrimary();
    address.redirect({ path: postgres.standbySocket() });
    address.restore();
    await pause(READ_ONLY_MS);
    await postgres.promote();
  });
}

async function measureOutage(
  installation: Installation,
  name: string,
  injectFault: () => Promise<void>,
): Promise<Outage> {
  const from = Date.now();
  await injectFault();
  const upAt = Date.now();
  await Promise.all(installation.client.servers.map((server) => waitForWrites(installation, server, name)));
  const to = Date.now();
  return { name, from, to, downMs: upAt - from, recoveryMs: to - upAt };
}

function waitForWrites({ client }: Installation, server: string, after: string): Promise<void> {
  return waitFor(RECOVER_MS, `${server} accepts writes after the ${after}`, async () => {
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
