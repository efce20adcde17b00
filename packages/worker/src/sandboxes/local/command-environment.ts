import { existsSync, readdirSync } from "node:fs";
import { npmConfigPath } from "../files/etc-files.ts";
import { programsPath } from "../files/programs.ts";
import { homeFolders } from "../systems/base-environment.ts";

const systemFolders = [
  ...["/usr/local/sbin", "/usr/local/bin", ...localFolders()],
  ...["/usr/sbin", "/usr/bin", "/sbin", "/bin", programsPath],
];

/**
 * Environment variables for the commands of agents and builds, so that `npm install -g`, `pip install`, `go install` and
 * `cargo install` work without root and the programs that they install are found.
 *
 * The worker's own scripts do not get them: a program in the home belongs to the agent and could replace git or tar.
 */
export const commandEnvironment: Record<string, string> = {
  PATH: [...homeFolders, ...systemFolders].join(":"),
  // The prefix is in a file, because nvm refuses to work if NPM_CONFIG_PREFIX is set.
  NPM_CONFIG_GLOBALCONFIG: npmConfigPath,
  // Debian marks its Python as externally managed. The system's packages are read-only here, so pip cannot break them; it
  // installs packages into the home.
  PIP_BREAK_SYSTEM_PACKAGES: "1",
};

/**
 * The same for MCP servers, which have secrets that commands do not have. The home comes last, so that a program that the
 * agent installs there cannot replace the system's node or python.
 */
export const serviceEnvironment: Record<string, string> = {
  ...commandEnvironment,
  PATH: [...systemFolders, ...homeFolders].join(":"),
};

/** Returns the folders of toolchains that are unpacked below /usr/local, such as /usr/local/go/bin. */
function localFolders(): string[] {
  if (!existsSync("/usr/local")) return [];
  const folders = readdirSync("/usr/local").sort();
  return folders.map((name) => `/usr/local/${name}/bin`).filter((path) => existsSync(path));
}
