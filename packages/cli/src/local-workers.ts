import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { modelKeyVariables } from "@outrider/server/config/models";

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
      // Keys of models come to a worker with each run; the server's own are none of its business.
      env: { ...withoutModelKeys(process.env), OUTRIDER_WORKER_KEY: key, OUTRIDER_WORKER_ATTACHED: "1" },
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

function withoutModelKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !modelKeyVariables.includes(name)),
  );
}
