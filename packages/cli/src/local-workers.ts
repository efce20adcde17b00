import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const AGAIN_MS = 1_000;
const STOP_MS = 30_000;

/** The workers that come with the server, each a process of its own. One that dies is started again. */
export function startLocalWorkers({
  count,
  origin,
  key,
  dataDir,
}: {
  count: number;
  origin: string;
  key: string;
  dataDir: string;
}) {
  const running = new Map<number, ChildProcess>();
  let isStopping = false;

  function start(index: number) {
    const args = [
      "worker",
      "--server",
      origin,
      "--name",
      `local-${index}`,
      "--data-dir",
      join(dataDir, "workers", String(index)),
    ];
    const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
      // The terminal's Ctrl-C is the server's to pass on; stdin closes when the server is gone.
      detached: true,
      stdio: ["pipe", "inherit", "inherit"],
      env: { ...workersOwn(process.env), OUTRIDER_WORKER_KEY: key, OUTRIDER_WORKER_ATTACHED: "1" },
    });
    running.set(index, child);
    child.once("exit", (code) => {
      running.delete(index);
      // One that was told to drain ends in peace.
      if (!isStopping && code !== 0) setTimeout(() => !isStopping && start(index), AGAIN_MS);
    });
  }

  for (let index = 1; index <= count; index++) start(index);
  return {
    /** They finish or hand back what they have. */
    async stop() {
      isStopping = true;
      const children = [...running.values()];
      await Promise.all(
        children.map(async (child) => {
          const gone = once(child, "exit");
          child.kill("SIGTERM");
          const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
          await gone;
          clearTimeout(timer);
        }),
      );
    },
  };
}

/** A worker's settings, and what any program needs. */
const passed =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TERM|NODE_\w+|SSL_CERT_\w+|(https?|no)_proxy|OUTRIDER_(WORKER_SLOTS|ALLOW_ADDRESSES|REPOSITORY_PATHS|CACHE_GB|MIN_FREE_MB))$/i;

/** Master key, database and keys of models are the server's alone; what a run needs of them comes with the run. */
function workersOwn(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => passed.test(name)));
}
