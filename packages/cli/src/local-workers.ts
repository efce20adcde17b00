import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { toolEnvironment } from "./tool-environment.ts";

const RESTART_DELAY_MS = 1_000;
const MAX_RESTART_DELAY_MS = 30_000;
/** A worker that ran this long did not fail at its start, so the next one starts after the shortest delay again. */
const STABLE_AFTER_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** How long to wait before a worker starts again that has failed so many times in a row. */
export function restartDelay(failures: number): number {
  return Math.min(RESTART_DELAY_MS * 2 ** (failures - 1), MAX_RESTART_DELAY_MS);
}

/** Starts workers on the server's machine, each in its own process, and restarts workers that crash. */
export function startLocalWorkers({
  count,
  origin,
  key,
  dataDir,
  logFormat,
  environment = {},
  logFile,
}: {
  count: number;
  origin: string;
  key: string;
  dataDir: string;
  /** Workers use the server's log format, because they write to the same output. */
  logFormat: string;
  /** Variables that override those of this process. */
  environment?: Record<string, string>;
  /** The file descriptor that workers write their log to. Default: the output of this process. */
  logFile?: number;
}) {
  const running = new Map<number, ChildProcess>();
  let isStopping = false;

  function start(index: number, failures = 0) {
    const startedAt = Date.now();
    const args = [
      "worker",
      "--server",
      origin,
      "--name",
      `local-${index}`,
      "--data-dir",
      join(dataDir, "workers", String(index)),
      "--log-format",
      logFormat,
    ];
    const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
      // Detached, so that only the server receives Ctrl-C. The server then stops its workers. If the server dies, the
      // workers notice because their stdin closes.
      detached: true,
      stdio: ["pipe", logFile ?? "inherit", logFile ?? "inherit"],
      env: {
        // Local workers share the installed agents.
        OUTRIDER_HARNESS_CACHE: join(dataDir, "harnesses"),
        ...workerEnvironment({ ...process.env, ...environment }),
        OUTRIDER_WORKER_KEY: key,
        OUTRIDER_WORKER_ATTACHED: "1",
      },
    });
    running.set(index, child);
    child.once("exit", (code) => {
      running.delete(index);
      // A drained worker exits with code 0 and is not restarted.
      if (isStopping || code === 0) return;
      const failuresInRow = Date.now() - startedAt < STABLE_AFTER_MS ? failures + 1 : 1;
      setTimeout(() => !isStopping && start(index, failuresInRow), restartDelay(failuresInRow)).unref();
    });
  }

  for (let index = 1; index <= count; index++) start(index);
  return {
    /** Stops all workers. They finish their runs or return them to the queue. */
    async stop() {
      isStopping = true;
      const children = [...running.values()];
      await Promise.all(
        children.map(async (child) => {
          const exited = once(child, "exit");
          child.kill("SIGTERM");
          const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
          await exited;
          clearTimeout(timer);
        }),
      );
    },
  };
}

/**
 * The environment variables that workers inherit: their own settings, and common variables such as PATH. They also inherit
 * the configuration of package managers (tool-environment.ts).
 */
const inheritedVariables =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|NODE_\w+|XDG_RUNTIME_DIR|DOCKER_(HOST|CERT_PATH|TLS_VERIFY)|KUBECONFIG|KUBERNETES_SERVICE_(HOST|PORT)|SSL_CERT_\w+|(https?|no)_proxy|OUTRIDER_(WORKER_SLOTS|SANDBOX|DOCKER_HOST|DOCKER_RUNTIME|DOCKER_SYSTEM_IMAGE|DOCKER_BUILDER|KUBERNETES_(NAMESPACE|SYSTEM_IMAGE|POD|KUBECONFIG|CONTEXT|REGISTRY|REGISTRY_CREDENTIALS)|ALLOW_ADDRESSES|EXTRA_CA|UPSTREAM_PROXY|NO_PROXY|REPOSITORY_PATHS|CACHE_GB|HARNESS_CACHE|HARNESS_FOLDER|MIN_FREE_MB|STALL_SECONDS|TRACE_HOSTS)|OTEL_\w+)$/i;

/** Hides the master key, the database URL and model keys from workers. Each run includes the secrets that it needs. */
function workerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const inherited = Object.entries(environment).filter(([name]) => inheritedVariables.test(name));
  return { ...toolEnvironment(environment), ...Object.fromEntries(inherited) };
}
