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
let postgres: EmbeddedPostgres;

/** One real PostgreSQL for the whole round; each suite makes a database of its own in it. */
export async function setup(project: TestProject) {
  dataDir = await mkdtemp(join(tmpdir(), "outrider-test-"));
  postgres = await startEmbedded({ dataDir, log: pino({ level: "silent" }) });
  project.provide("postgres", postgres.connection);
}

export async function teardown() {
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
