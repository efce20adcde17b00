import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";

const MAX_STDERR_CHARACTERS = 16_000;

export interface NpmOptions {
  args: string[];
  /** The folder with package.json. */
  cwd: string;
  /** npm's cache of downloads. */
  cache: string;
  /** The variables with which npm finds the operator's configuration: registry, proxy, certificates. */
  environment: Record<string, string>;
  signal: AbortSignal;
  timeoutMs: number;
  /** An open lock file. npm inherits it, so the lock is held until npm has exited, even if this process dies. */
  lock?: number;
  /** Called every second. If it returns a reason, npm is killed. */
  checkEverySecond?(): Promise<string | undefined>;
}

export interface NpmResult {
  ok: boolean;
  /** npm's code of the error, such as `EINTEGRITY`. */
  code?: string | undefined;
  /** What npm printed about the error, without credentials. */
  message: string;
  /** Why npm was killed, if it was. */
  endReason?: string | undefined;
}

/** Settings of the operator that would change what is installed are replaced; the others apply. */
const settings = [
  "--ignore-scripts",
  "--omit=dev",
  "--include=optional",
  "--include=peer",
  "--install-strategy=hoisted",
  "--bin-links=true",
  "--global=false",
  "--package-lock=true",
  "--legacy-peer-deps=false",
  "--omit-lockfile-registry-resolved=true",
  "--dry-run=false",
  "--audit=false",
  "--fund=false",
  "--update-notifier=false",
  "--progress=false",
  "--fetch-retry-mintimeout=1000",
  "--fetch-retry-maxtimeout=10000",
  "--loglevel=error",
];

/** Runs npm in its own session. No package's scripts are run. Rejects if it was aborted or could not start. */
export async function runNpm(options: NpmOptions): Promise<NpmResult> {
  const { args, cwd, cache, environment, signal, timeoutMs } = options;
  signal.throwIfAborted();
  const child = spawn("npm", [...args, ...settings, `--cache=${cache}`], {
    cwd,
    detached: true,
    stdio: ["ignore", "ignore", "pipe", options.lock ?? "ignore"],
    env: npmEnvironment(environment),
  });
  let endReason: string | undefined;
  const end = (reason: string) => {
    endReason ??= reason;
    try {
      if (child.pid) process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };
  const abort = () => end("aborted");
  signal.addEventListener("abort", abort);
  const timer = setTimeout(() => end(`it took longer than ${timeoutMs / 60_000} minutes`), timeoutMs);
  let isChecking = false;
  const watcher = setInterval(async () => {
    if (isChecking) return;
    isChecking = true;
    const reason = await options.checkEverySecond?.().catch(() => undefined);
    isChecking = false;
    if (reason) end(reason);
  }, 1_000);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR_CHARACTERS);
  });
  try {
    const ok = await new Promise<boolean>((resolve, reject) => {
      child.once("error", reject).once("close", (code) => resolve(code === 0));
    });
    signal.throwIfAborted();
    return { ok: ok && !endReason, ...describe(stderr), endReason };
  } finally {
    clearTimeout(timer);
    clearInterval(watcher);
    signal.removeEventListener("abort", abort);
  }
}

/** Returns the path of npm, if it is installed. */
export function findNpm(environment: Record<string, string>): string | undefined {
  return searchPath(environment)
    .map((folder) => join(folder, "npm"))
    .find(existsSync);
}

/**
 * npm is a JavaScript program, which must run with this Node rather than with another one on PATH. If this Node is an npm
 * package, as in .tools of a checkout, the npm beside it is used.
 */
function searchPath({ PATH = "/usr/local/bin:/usr/bin:/bin" }: Record<string, string>): string[] {
  const ownFolder = basename(process.execPath) === "node" ? [dirname(process.execPath)] : [];
  const modules = /^.*\/node_modules(?=\/)/.exec(process.execPath)?.[0];
  return [...ownFolder, ...(modules ? [`${modules}/.bin`] : []), ...PATH.split(delimiter)];
}

function npmEnvironment(environment: Record<string, string>) {
  const path = searchPath(environment);
  const isConfigured = Object.keys(environment).some((name) => /^npm_config_globalconfig$/i.test(name));
  const globalConfig = isConfigured ? undefined : findGlobalConfig(path);
  return {
    ...environment,
    ...(globalConfig ? { NPM_CONFIG_GLOBALCONFIG: globalConfig } : {}),
    ...{ PATH: path.join(delimiter), LC_ALL: "C", NO_COLOR: "1" },
  };
}

/**
 * Finds the configuration that the operator has made for all users. npm searches only beside the Node that runs it, which
 * may not be the one of the system.
 */
function findGlobalConfig(path: string[]): string | undefined {
  return path
    .filter((folder) => existsSync(join(folder, "node")))
    .map((folder) => join(dirname(folder), "etc/npmrc"))
    .find(existsSync);
}

function describe(stderr: string): Pick<NpmResult, "code" | "message"> {
  const lines = stderr
    .split("\n")
    .flatMap((line) => (line.startsWith("npm error ") ? [line.slice("npm error ".length).trim()] : []));
  const code = lines.find((line) => line.startsWith("code "))?.slice("code ".length);
  const message = lines
    .filter((line) => line !== "" && !/^(code |errno |A complete log)/.test(line))
    .slice(0, 3)
    .join(" ")
    .replaceAll(/\/\/[^/@\s]+@/g, "//")
    .slice(0, 600);
  return { code, message };
}

/** The variables with which npm uses the worker's settings for its network. The operator's npm configuration wins. */
export function npmNetwork(
  { upstreamProxy, noProxy }: { upstreamProxy?: string | undefined; noProxy?: string | undefined },
  caFile: string | undefined,
): Record<string, string> {
  return {
    ...(upstreamProxy ? { HTTP_PROXY: upstreamProxy, HTTPS_PROXY: upstreamProxy } : {}),
    ...(upstreamProxy && noProxy ? { NO_PROXY: noProxy } : {}),
    ...(caFile ? { NODE_EXTRA_CA_CERTS: caFile } : {}),
  };
}
