import { join, resolve } from "node:path";
import { type Config, readConfig } from "@outrider/server/config";
import { HarnessInstaller } from "@outrider/worker/harnesses/install/harness-installer";
import { npmNetwork } from "@outrider/worker/harnesses/install/npm";
import { toolEnvironment } from "./tool-environment.ts";

/**
 * Opens the agents that the workers of this machine use, with the same settings as a worker. `packagesOf` returns the
 * operator's versions of an agent's packages.
 */
export function openInstaller({
  dataDir,
  cache,
  folder,
}: {
  dataDir?: string | undefined;
  cache?: string | undefined;
  folder?: string | undefined;
} = {}) {
  const { env } = process;
  const config = readConfig(dataDir === undefined ? {} : { dataDir });
  const { OUTRIDER_UPSTREAM_PROXY: upstreamProxy, OUTRIDER_NO_PROXY: noProxy } = env;
  const installer = new HarnessInstaller({
    cache: cache ?? harnessCache(config, { isGiven: dataDir !== undefined }),
    folder,
    environment: {
      ...toolEnvironment(env),
      ...npmNetwork({ upstreamProxy, noProxy }, env.OUTRIDER_EXTRA_CA || undefined),
    },
  });
  return { installer, packagesOf: (name: string) => config.harnesses()[name]?.packages };
}

/** The folder that local workers of `outrider serve` and, with its own data directory, `outrider worker` use. */
function harnessCache({ dataDir }: Config, { isGiven }: { isGiven: boolean }): string {
  const { OUTRIDER_HARNESS_CACHE: variable } = process.env;
  return resolve(isGiven || !variable ? join(dataDir, "harnesses") : variable);
}
