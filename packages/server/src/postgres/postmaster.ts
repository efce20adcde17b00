import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Identity, runAs } from "./identity.ts";
import { pidFilePath, readPidFile } from "./pid-file.ts";

export interface PostmasterOptions {
  postgres: string;
  cluster: string;
  settings: Record<string, string>;
  logPath: string;
  identity: Identity | undefined;
}

export interface Postmaster {
  pid: number | undefined;
  /** Resolves with the exit reason and never rejects. */
  exited: Promise<string>;
  end(): Promise<void>;
}

// Long enough for crash recovery, which replays at most a few hundred MB; see max_wal_size.
const startTimeoutMs = 5 * 60_000;

/** Starts PostgreSQL and returns once it accepts connections. PostgreSQL is stopped when the signal aborts. */
export async function startPostmaster(options: PostmasterOptions, signal: AbortSignal): Promise<Postmaster> {
  signal.throwIfAborted();
  const child = spawnPostgres(options);
  const postmaster = manage(child);
  const end = () => void postmaster.end();
  signal.addEventListener("abort", end);
  void postmaster.exited.then(() => signal.removeEventListener("abort", end));
  try {
    await waitUntilReady(postmaster, options.cluster);
  } catch (error) {
    await postmaster.end();
    throw error;
  }
  child.unref(); // lets this process exit; the "exit" hook then stops PostgreSQL
  return postmaster;
}

function spawnPostgres({ postgres, cluster, settings, logPath, identity }: PostmasterOptions): ChildProcess {
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const output = openSync(logPath, "a", 0o600);
  try {
    return spawn(postgres, ["-D", cluster, ...args], {
      ...runAs(identity),
      stdio: ["ignore", output, output],
      // Ctrl-C signals the whole foreground process group, but the server still needs its database while it shuts down.
      detached: true,
    });
  } finally {
    closeSync(output);
  }
}

function manage(child: ChildProcess): Postmaster {
  const interrupt = () => void child.kill("SIGINT");
  process.once("exit", interrupt);
  const exited = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  void exited.then(() => process.off("exit", interrupt));
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= escalate(child, exited);
    return ending;
  };
  return { pid: child.pid, exited, end };
}

/**
 * Stops PostgreSQL. It tries a fast shutdown first, which writes a checkpoint so that the next start does not need
 * recovery.
 */
async function escalate(child: ChildProcess, exited: Promise<string>): Promise<void> {
  child.ref();
  for (const [signal, timeoutMs] of [
    ["SIGINT", 30_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    child.kill(signal);
    const enough = new AbortController();
    const waiting = sleep(timeoutMs, "still there", { signal: enough.signal }).catch(() => undefined);
    const outcome = await Promise.race([exited, waiting]);
    enough.abort();
    if (outcome !== "still there") return;
  }
}

async function waitUntilReady(postmaster: Postmaster, cluster: string): Promise<void> {
  let end: string | undefined;
  void postmaster.exited.then((reason) => {
    end = reason;
  });
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await sleep(20)) {
    if (end !== undefined) throw new Error(`it exited during startup (${end})`);
    const file = readPidFile(pidFilePath(cluster));
    if (file?.pid === postmaster.pid && file?.ready) return;
  }
  throw new Error(`it was not ready after ${startTimeoutMs / 1000} s`);
}
