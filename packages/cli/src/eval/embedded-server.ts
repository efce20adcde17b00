import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Outrider } from "@outrider/sdk";
import { readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { clientOptions } from "../connection.ts";
import { startLocalWorkers } from "../local-workers.ts";

export interface EmbeddedServer extends AsyncDisposable {
  client: Outrider;
}

export interface EmbeddedServerOptions {
  /** Where to keep the installation. Default: a temporary folder, which is removed at the end. */
  dataDir?: string;
  modelsFile?: string;
  defaultModel?: string;
  /** Folders that the worker can fetch repositories from. */
  repositoryPaths: string[];
}

/** An evaluation creates more runs per minute than the default rate limits allow. */
const unlimitedRates = {
  OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
  OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
};

/** Starts a server with one worker on this machine, only for an evaluation. */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { modelsFile = usualFile("models"), repositoryPaths } = options;
  const harnessesFile = usualFile("harnesses");
  const dataDir = options.dataDir === undefined ? makeTemporaryFolder() : resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  const remove = () => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  const { DATABASE_URL: _, OUTRIDER_PUBLIC_URL: __, ...environment } = process.env;
  try {
    const config = readConfig(
      {
        ...{ dataDir, host: "127.0.0.1", port: "0" },
        ...(modelsFile ? { models: modelsFile } : {}),
        ...(harnessesFile ? { harnesses: harnessesFile } : {}),
      },
      { ...environment, ...unlimitedRates, OUTRIDER_LOG_LEVEL: "silent" },
    );
    const server = await startServer(config);
    const workers = startLocalWorkers({
      ...{
        count: 1,
        origin: server.localOrigin,
        key: await server.localWorkerKey(),
        dataDir,
        logFormat: "json",
      },
      environment: {
        ...usualHarnessCache(),
        OUTRIDER_REPOSITORY_PATHS: repositoryPaths.map((path) => realpathSync(path)).join(":"),
      },
      logFile: openSync(join(dataDir, "worker.log"), "a"),
    });
    const api_key = readFileSync(join(dataDir, "key"), "utf8").trim();
    return {
      client: new Outrider(clientOptions({ base_url: `${server.localOrigin}/api/v1`, api_key })),
      async [Symbol.asyncDispose]() {
        await workers.stop();
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Returns a file of the installation in the current folder, so that its models and harnesses can be evaluated. */
function usualFile(name: "models" | "harnesses"): string | undefined {
  const { OUTRIDER_DATA_DIR = ".outrider" } = process.env;
  const configured = process.env[`OUTRIDER_${name.toUpperCase()}`];
  const file = configured || join(OUTRIDER_DATA_DIR, `${name}.json`);
  return configured || existsSync(file) ? resolve(file) : undefined;
}

/** Uses the agents of the installation in the current folder, so that they are not downloaded for each evaluation. */
function usualHarnessCache(): Record<string, string> {
  const { OUTRIDER_HARNESS_CACHE, OUTRIDER_DATA_DIR = ".outrider" } = process.env;
  if (OUTRIDER_HARNESS_CACHE || !existsSync(OUTRIDER_DATA_DIR)) return {};
  return { OUTRIDER_HARNESS_CACHE: resolve(OUTRIDER_DATA_DIR, "harnesses") };
}

/** PostgreSQL and sandboxes run under other accounts if root starts the evaluation, and must be able to traverse the folder. */
export function makeTemporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-eval-")));
  chmodSync(folder, 0o711);
  return folder;
}
