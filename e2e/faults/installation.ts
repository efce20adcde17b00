import { expect, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import {
  call,
  keyOf,
  makeDataDir,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "../process.ts";

/** One server process and one worker process in folders that the test chooses, and helpers to call the API. */

export interface InstallationOptions {
  /** Defaults to a new temporary folder. */
  dataDir?: string;
  workerDir?: string;
  environment?: Record<string, string>;
}

interface Event {
  seq: number;
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events have many shapes
  data: any;
}

export class Installation {
  readonly server: Serving;
  readonly worker: Running;
  readonly #key: string;
  readonly #folders: string[];

  private constructor(parts: { server: Serving; worker: Running; key: string; folders: string[] }) {
    this.server = parts.server;
    this.worker = parts.worker;
    this.#key = parts.key;
    this.#folders = parts.folders;
  }

  static async start({ dataDir, workerDir, environment = {} }: InstallationOptions): Promise<Installation> {
    const folders: string[] = [];
    const folder = (path: string | undefined) => path ?? (folders[folders.push(makeDataDir()) - 1] as string);
    const server = await serve({
      dataDir: folder(dataDir),
      environment: { OUTRIDER_WORKERS: "0", ...environment },
    });
    const key = keyOf(server.dataDir);
    const body = { name: "worker", type: "worker" };
    const created = await call("POST", `${server.origin}/api/v1/keys`, { key, body });
    const worker = run(
      ["worker", "--server", server.origin, "--name", "only", "--data-dir", folder(workerDir)],
      {
        ...environment,
        OUTRIDER_WORKER_KEY: created.body.key,
      },
    );
    await worker.waitForOutput("ready for runs");
    return new Installation({ server, worker, key, folders });
  }

  call(method: string, path: string, body?: unknown) {
    const url = path.startsWith("/metrics")
      ? this.server.origin + path
      : `${this.server.origin}/api/v1${path}`;
    return call(method, url, { key: this.#key, body });
  }

  tryCreateRun(script: string[]) {
    return this.call("POST", "/agent/run", { prompt: script.join("\n") });
  }

  async createRun(script: string[]): Promise<string> {
    const reply = await this.tryCreateRun(script);
    expect(reply.status, reply.text).toBe(200);
    return reply.body.run_id;
  }

  async events(run: string): Promise<Event[]> {
    const { status, body, text } = await this.call("GET", `/agent/runs/${run}/events?limit=1000`);
    expect(status, text).toBe(200);
    return body.events;
  }

  async waitForEnd(run: string, timeout = waitOptions.timeout) {
    const findEndedRun = async () => {
      const { status, body } = await this.call("GET", `/agent/runs/${run}`);
      return status === 200 && /^(SUCCEEDED|FAILED|CANCELLED)$/.test(body.state) ? body : undefined;
    };
    return vi.waitUntil(findEndedRun, { timeout, interval: 100 });
  }

  /** Returns how often the server answered 503 to a worker operation. */
  async countUnavailable(operation: string): Promise<number> {
    const { text } = await this.call("GET", "/metrics");
    const line = new RegExp(
      `outrider_http_requests_total\\{operation="worker.${operation}",status="503"\\} (\\d+)`,
    );
    return Number(line.exec(text)?.[1] ?? 0);
  }

  async stop() {
    await this.worker.end("SIGKILL");
    await this.server.end("SIGTERM");
    for (const folder of this.#folders) removeDataDir(folder);
  }
}

/** Returns a script whose steps print much and append to a file, which shows steps that ran twice. */
export function longScript(steps: number, { kilobytes = 15, seconds = 0.2 } = {}): string[] {
  const all = Array.from(
    { length: steps },
    (_, step) =>
      `RUN: echo ${step} >> steps; head -c ${kilobytes}000 /dev/urandom | base64; sleep ${seconds}`,
  );
  return [...all, "RUN: cat steps", "SAY: all done"];
}

/** Expects a log without gaps in which each step appears once, and a file that shows that each step ran once. */
export async function expectCompleteRun(installation: Installation, run: string, steps: number) {
  const events = await installation.events(run);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const ofType = (type: string) => events.filter((event) => event.type === type);
  expect(ofType("command.started")).toHaveLength(steps + 1);
  const finished = ofType("command.finished");
  expect(finished).toHaveLength(steps + 1);
  const last = ofType("command.started").at(-1)?.data.command_id;
  const output = ofType("command.output").filter(({ data }) => data.command_id === last);
  expect(
    output
      .map(({ data }) => data.text)
      .join("")
      .trim()
      .split("\n"),
  ).toEqual(Array.from({ length: steps }, (_, step) => String(step)));
}
