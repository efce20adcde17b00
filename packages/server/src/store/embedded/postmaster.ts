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
  /** Resolves with a description of the end; never rejects. */
  exited: Promise<string>;
  end(): Promise<void>;
}

// Crash recovery replays at most a few hundred MB, see max_wal_size.
const startLimit = 5 * 60_000;

/** Starts PostgreSQL and returns once it takes connections. It is ended when the signal fires. */
export async function startPostmaster(options: PostmasterOptions, signal: AbortSignal): Promise<Postmaster> {
  signal.throwIfAborted();
  const child = spawnPostgres(options);
  const postmaster = watch(child);
  const end = () => void postmaster.end();
  signal.addEventListener("abort", end);
  void postmaster.exited.then(() => signal.removeEventListener("abort", end));
  try {
    await becomesReady(postmaster, options.cluster);
  } catch (error) {
    await postmaster.end();
    throw error;
  }
  child.unref(); // a process with nothing else to do may end; the hook on "exit" then stops PostgreSQL
  return postmaster;
}

function spawnPostgres({ postgres, cluster, settings, logPath, identity }: PostmasterOptions): ChildProcess {
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const output = openSync(logPath, "a", 0o600);
  try {
    return spawn(postgres, ["-D", cluster, ...args], {
      ...runAs(identity),
      stdio: ["ignore", output, output],
      // Ctrl-C reaches the whole foreground group, and the server needs its database while it winds up.
      detached: true,
    });
  } finally {
    closeSync(output);
  }
}

function watch(child: ChildProcess): Postmaster {
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

/** Fast shutdown first: it aborts transactions but writes a checkpoint, so the next start needs no recovery. */
async function escalate(child: ChildProcess, exited: Promise<string>): Promise<void> {
  child.ref();
  for (const [signal, patience] of [
    ["SIGINT", 30_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    child.kill(signal);
    const enough = new AbortController();
    const waiting = sleep(patience, "still there", { signal: enough.signal }).catch(() => undefined);
    const outcome = await Promise.race([exited, waiting]);
    enough.abort();
    if (outcome !== "still there") return;
  }
}

async function becomesReady(postmaster: Postmaster, cluster: string): Promise<void> {
  let end: string | undefined;
  void postmaster.exited.then((reason) => {
    end = reason;
  });
  for (const deadline = Date.now() + startLimit; Date.now() < deadline; await sleep(20)) {
    if (end !== undefined) throw new Error(`it ended while starting (${end})`);
    const file = readPidFile(pidFilePath(cluster));
    if (file?.pid === postmaster.pid && file?.ready) return;
  }
  throw new Error(`it was not ready after ${startLimit / 1000} s`);
}
