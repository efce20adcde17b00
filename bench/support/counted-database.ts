import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbedded } from "../../packages/server/src/postgres/embedded-postgres.ts";
import type { PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { type StatementCounter, startStatementCounter } from "./statement-counter.ts";

export interface CountedDatabase extends AsyncDisposable {
  /** The address for servers whose statements are counted. */
  databaseUrl: string;
  /** Connects directly, so nothing is counted. */
  connection: PostgresConnection;
  counter: StatementCounter;
}

/** Starts a PostgreSQL server behind a proxy that counts statements. */
export async function startCountedDatabase(settings: Record<string, string> = {}): Promise<CountedDatabase> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-bench-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const { connection, stop } = await startEmbedded({ dataDir, settings, log: pino({ level: "silent" }) });
  stack.defer(stop);
  const { host, port, user, password, database } = connection;
  const counter = stack.use(await startStatementCounter(join(host, `.s.PGSQL.${port}`)));
  const databaseUrl = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${counter.port}/${database}`;
  const started = stack.move();
  return { databaseUrl, connection, counter, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
