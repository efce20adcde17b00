import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../src/config.ts";
import { startServer } from "../src/main.ts";
import type { TestServer } from "./server.ts";
import { testServer } from "./server.ts";

const masterKey = { OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };

export interface TwoServers {
  first: TestServer;
  /** The base URL of each server. */
  bases: [string, string];
  stop(): Promise<void>;
}

/** Starts two servers with the same settings on one database. */
export async function twoServers(settings: Record<string, string> = {}): Promise<TwoServers> {
  const first = await testServer({ ...masterKey, ...settings });
  const folder = await mkdtemp(join(tmpdir(), "outrider-test-"));
  const second = await startServer(
    readConfig(
      {},
      {
        OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
        OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
        OUTRIDER_FAILURES_PER_MINUTE: "1000000",
        ...masterKey,
        ...settings,
        DATABASE_URL: first.databaseUrl,
        OUTRIDER_DATA_DIR: folder,
        OUTRIDER_PORT: "0",
        OUTRIDER_LOG_LEVEL: "silent",
      },
    ),
  );
  return {
    first,
    bases: [first.base, `${second.origin}/api/v1`],
    async stop() {
      await second.stop();
      await first.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
