import { posix } from "node:path";

/** Programs that download a package before they start it. */
const packageRunners = ["npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "pipx"];

/** Long enough for the download of a package with many dependencies. */
const DOWNLOAD_START_MS = 120_000;

/**
 * Settings for npm. It uses packages from its cache without asking the registry, so that a server whose package the
 * environment's setup commands have downloaded starts without a network. It prints nothing but errors, because a
 * server's standard output is for messages only.
 */
const npmSettings = {
  npm_config_prefer_offline: "true",
  npm_config_update_notifier: "false",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_yes: "true",
  npm_config_loglevel: "error",
};

/** Returns how long a server with this command may take to start. Undefined is the default for all servers. */
export function defaultStartMs(command = ""): number | undefined {
  return packageRunners.includes(posix.basename(command)) ? DOWNLOAD_START_MS : undefined;
}

/** Returns the environment variables for a server with this command. The run's own variables take precedence. */
export function runnerSettings(command: string): Record<string, string> {
  return ["npx", "npm"].includes(posix.basename(command)) ? npmSettings : {};
}
