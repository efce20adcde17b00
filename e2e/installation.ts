import { expect, vi } from "vitest";
import {
  call,
  keyOf,
  makeDataDir,
  patience,
  type Running,
  removeDataDir,
  run,
  type Serving,
  serve,
} from "./process.ts";

/** One server and one worker, each a process of its own, whose disks the test chooses; and what is asked of them. */

export interface InstallationOptions {
  /** Where not said, a new folder on the machine's disk. */
  dataDir?: string;
  workerDir?: string;
  environment?: Record<string, string>;
}

interface Event {
  seq: number;
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events of every type
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
    const folder = (given: string | undefined) =>
      given ?? (folders[folders.push(makeDataDir()) - 1] as string);
    const server = await serve({
      dataDir: folder(dataDir),
      environment: { OUTRIDER_WORKERS: "0", ...environment },
    });
    const key = keyOf(server.dataDir);
    const body = { name: "worker", type: "worker" };
    const made = await call("POST", `${server.origin}/api/v1/keys`, { key, body });
    const worker = run(
      ["worker", "--server", server.origin, "--name", "only", "--data-dir", folder(workerDir)],
      {
        ...environment,
        OUTRIDER_WORKER_KEY: made.body.key,
      },
    );
    await worker.says("ready for runs");
    return new Installation({ server, worker, key, folders });
  }

  call(method: string, path: string, body?: unknown) {
    const url = path.startsWith("/metrics")
      ? this.server.origin + path
      : `${this.server.origin}/api/v1${path}`;
    return call(method, url, { key: this.#key, body });
  }

  create(script: string[]) {
    return this.call("POST", "/agent/run", { prompt: script.join("\n") });
  }

  async created(script: string[]): Promise<string> {
    const reply = await this.create(script);
    expect(reply.status, reply.text).toBe(200);
    return reply.body.run_id;
  }

  async events(run: string): Promise<Event[]> {
    const { status, body, text } = await this.call("GET", `/agent/runs/${run}/events?limit=1000`);
    expect(status, text).toBe(200);
    return body.events;
  }

  async ended(run: string, timeout = patience.timeout) {
    const isOver = async () => {
      const { status, body } = await this.call("GET", `/agent/runs/${run}`);
      return status === 200 && /^(SUCCEEDED|FAILED|CANCELLED)$/.test(body.state) ? body : undefined;
    };
    return vi.waitUntil(isOver, { timeout, interval: 100 });
  }

  /** How often a call of workers was put off. */
  async putOff(operation: string): Promise<number> {
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

/** Each step says much and leaves a line in a file, by which one that was done twice would be known. */
export function longScript(steps: number, { kilobytes = 15, seconds = 0.2 } = {}): string[] {
  const all = Array.from(
    { length: steps },
    (_, step) =>
      `RUN: echo ${step} >> steps; head -c ${kilobytes}000 /dev/urandom | base64; sleep ${seconds}`,
  );
  return [...all, "RUN: cat steps", "SAY: all done"];
}

/** Nothing is lost and nothing doubled: the log has no gap, each step stands in it once, and was done once. */
export async function expectWhole(world: Installation, run: string, steps: number) {
  const events = await world.events(run);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const of = (type: string) => events.filter((event) => event.type === type);
  expect(of("command.started")).toHaveLength(steps + 1);
  const finished = of("command.finished");
  expect(finished).toHaveLength(steps + 1);
  const last = of("command.started").at(-1)?.data.command_id;
  const said = of("command.output").filter(({ data }) => data.command_id === last);
  expect(
    said
      .map(({ data }) => data.text)
      .join("")
      .trim()
      .split("\n"),
  ).toEqual(Array.from({ length: steps }, (_, step) => String(step)));
}
