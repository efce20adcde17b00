import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import type { PostgresConnection } from "../src/store/db.ts";
import { type EmbeddedPostgres, startEmbedded } from "../src/store/embedded.ts";

declare module "vitest" {
  interface ProvidedContext {
    postgres: PostgresConnection;
  }
}

let dataDir: string;
let postgres: EmbeddedPostgres | undefined;

/**
 * One real PostgreSQL for the whole round; each suite makes a database of its own in it. Another major than our own is
 * tried with OUTRIDER_TEST_POSTGRES=postgres://superuser:password@/postgres?host=/folder, where its socket .s.PGSQL.5432 is.
 */
export async function setup(project: TestProject) {
  const other = process.env.OUTRIDER_TEST_POSTGRES;
  if (other) return project.provide("postgres", connectionOf(other));
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
