import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { type EmbeddedPostgres, startEmbedded } from "../src/postgres/embedded-postgres.ts";
import type { PostgresConnection } from "../src/store/connection/db.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgres: PostgresConnection;
  }
}

let dataDir: string;
let postgres: EmbeddedPostgres | undefined;

/**
 * Starts one real PostgreSQL for the whole test run. Each suite creates its own database in it. To test another major
 * version, set OUTRIDER_TEST_POSTGRES=postgres://superuser:password@/postgres?host=/folder, where /folder contains the
 * socket .s.PGSQL.5432.
 */
export async function setup(project: TestProject) {
  const external = process.env.OUTRIDER_TEST_POSTGRES;
  if (external) return project.provide("postgres", connectionOf(external));
  dataDir = await mkdtemp(join(tmpdir(), "outrider-test-"));
  postgres = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  project.provide("postgres", postgres.connection);
}

function connectionOf(address: string): PostgresConnection {
  const { username, password, searchParams, pathname } = new URL(address.replace("@/", "@localhost/"));
  return {
    host: searchParams.get("host") as string,
    port: 5432,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
  };
}

export async function teardown() {
  if (!postgres) return;
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
