import { type Db, openDb } from "../packages/server/src/store/db.ts";
import { type Outrider, startOutrider } from "./outrider.ts";
import { fillYear } from "./year.ts";

/** Outrider on a database that holds a year. */
export interface Installation extends AsyncDisposable {
  outrider: Outrider;
  db: Db;
  runs: number;
  /** The second person's, who made a few of a hundred of all runs. */
  creator: string;
  environment: string;
}

export async function startYear(runs: number, eventsPerRun: number): Promise<Installation> {
  const outrider = await startOutrider();
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  const dispose = async () => {
    await db.end({ timeout: 5 });
    await outrider[Symbol.asyncDispose]();
  };
  try {
    const [key] = await db<{ key_id: string }[]>`select key_id from keys limit 1`;
    const began = performance.now();
    await fillYear(db, { runs, eventsPerRun, keyId: key?.key_id as string });
    console.log(`${runs} runs written in ${Math.round((performance.now() - began) / 1_000)} s`);
    const [person] = await db<{ uid: string }[]>`select uid from people where email = 'person2@example.com'`;
    const [environment] = await db<{ id: string }[]>`
      select environment_id as id from environments where name = 'environment 2'`;
    return {
      ...{ outrider, db, runs, creator: person?.uid as string, environment: environment?.id as string },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

export async function get<T>({ outrider }: Installation, path: string): Promise<T> {
  return (await ask(outrider, "GET", path)).json() as Promise<T>;
}

export async function ask({ origin, key }: Outrider, method: string, path: string): Promise<Response> {
  const reply = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
  });
  if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${await reply.text()}`);
  return reply;
}
