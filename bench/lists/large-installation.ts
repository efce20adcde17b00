import { type Db, openDb } from "../../packages/server/src/store/connection/db.ts";
import { type Outrider, startOutrider } from "../support/start-outrider.ts";
import { fillDatabase } from "./fill-database.ts";

/** Outrider with a database that contains a year of runs. */
export interface Installation extends AsyncDisposable {
  outrider: Outrider;
  db: Db;
  runs: number;
  /** The second user, who created a few percent of all runs. */
  creator: string;
  environment: string;
}

export async function startLargeInstallation(runs: number, eventsPerRun: number): Promise<Installation> {
  const outrider = await startOutrider();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  const dispose = async () => {
    await db.end({ timeout: 5 });
    await outrider[Symbol.asyncDispose]();
  };
  try {
    const [key] = await db<{ key_id: string }[]>`select key_id from keys limit 1`;
    const startedAt = performance.now();
    await fillDatabase(db, { runs, eventsPerRun, keyId: key?.key_id as string });
    console.log(`${runs} runs written in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    const [user] = await db<{ uid: string }[]>`select uid from users where email = 'user2@example.com'`;
    const [environment] = await db<{ id: string }[]>`
      select environment_id as id from environments where name = 'environment 2'`;
    return {
      ...{ outrider, db, runs, creator: user?.uid as string, environment: environment?.id as string },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

export async function get<T>({ outrider }: Installation, path: string): Promise<T> {
  return (await sendRequest(outrider, "GET", path)).json() as Promise<T>;
}

export async function sendRequest(
  { origin, key }: Outrider,
  method: string,
  path: string,
): Promise<Response> {
  const reply = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
  });
  if (!reply.ok) throw new Error(`${method} ${path} returned ${reply.status}: ${await reply.text()}`);
  return reply;
}
