import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type Event, startTestInstallation, type TestInstallation } from "../installation.ts";
import { startRejectingProxy } from "./rejecting-proxy.ts";

/** Errors that no other attempt would avoid: reports that the server rejects, and exceptions in the worker. */

let installation: TestInstallation;
let proxy: Awaited<ReturnType<typeof startRejectingProxy>>;
const logged: { reason?: string; run_id?: string }[] = [];
/** The runs whose first report has been rejected. */
const rejected = new Set<string>();
let internalErrors = 0;
/** The statuses of the responses while the server is restarted. */
const unavailable = Array.from({ length: 4 }, () => [502, 503, 504]).flat();

const rejection = (detail: string) => ({ status: 400, body: JSON.stringify({ detail }) });

beforeAll(async () => {
  installation = await startTestInstallation();
  proxy = await startRejectingProxy(installation.origin, (path, body) => {
    if (/\/report$/.test(path) && body.includes("reject this report")) {
      const { run_id } = JSON.parse(body);
      if (rejected.has(run_id)) return undefined;
      rejected.add(run_id);
      return rejection("no open-sesame");
    }
    if (/\/report$/.test(path) && body.includes("break this report")) return { status: 200, body: "}" };
    if (/\/report$/.test(path) && body.includes("crash on this report")) {
      internalErrors += 1;
      return { status: 500, body: '{"detail":"An unexpected error occurred.","trace_id":"4bf92f35"}' };
    }
    if (/\/report$/.test(path) && body.includes("restart during this report") && unavailable.length > 0)
      return { status: unavailable.pop() as number, body: "" };
    if (/\/finish$/.test(path) && /reject this outcome|never tell/.test(body)) return rejection("never tell");
    return undefined;
  });
  const log = { info() {}, warn() {}, error: (fields: object) => void logged.push(fields) };
  await installation.worker({ url: proxy.url, log });
});
afterAll(async () => {
  await installation?.stop();
  proxy?.stop();
});

const attemptsOf = (events: Event[]) => Math.max(...events.map(({ attempt }) => attempt));

async function failedRun(script: string[], body: object = {}) {
  const run = await installation.create(script, body);
  const { status_message } = await installation.until(run, "FAILED");
  const events = await installation.events(run);
  expect(attemptsOf(events)).toBe(1);
  expect(status_message.error_code).toBe("internal_error");
  const { reason } = await vi.waitUntil(() => logged.find(({ run_id }) => run_id === run), waitOptions);
  return { run, message: status_message.message as string, events, reason };
}

describe("an unexpected error", () => {
  test("in a report ends the turn at once and is logged, and a follow-up continues the run", async () => {
    const { run, message, reason } = await failedRun([
      "RUN: echo kept > file",
      "RUN: echo reject this report",
    ]);
    const problem = "Error: The server responded with 400: no open-sesame";
    expect(message).toBe(`The worker could not continue the turn. ${problem}`);
    expect(reason).toBe(problem);
    // The script continues with the command whose report was rejected.
    await installation.followUp(run, ["RUN: cat file"]);
    await installation.event(run, ({ type, data }) => type === "command.output" && data.text === "kept\n");
    await installation.until(run, "SUCCEEDED");
  });

  test("of the server is retried a few times, and then ends the turn", async () => {
    const { message } = await failedRun(["RUN: echo crash on this report"]);
    expect(message).toBe(
      "The worker could not continue the turn. Error: The server responded with 500: An unexpected error occurred. Search the server log for the trace_id 4bf92f35.",
    );
    expect(internalErrors).toBeGreaterThan(2);
  });

  test("does not include a server that is unavailable for longer", async () => {
    const run = await installation.create(["RUN: echo restart during this report"]);
    await installation.until(run, "SUCCEEDED");
    expect(unavailable).toEqual([]);
  });

  test("in the worker ends the turn at once", async () => {
    const { message } = await failedRun(["RUN: echo break this report"]);
    expect(message).toMatch(/^The worker could not continue the turn\. SyntaxError: /);
  });

  test("is redacted and bounded", async () => {
    const stored = await installation.call("PUT", "/agent/secrets/WORD", { body: { value: "open-sesame" } });
    expect(stored.status).toBeLessThan(300);
    const environment = { name: "secret", secrets: ["WORD"] };
    const { body } = await installation.call("POST", "/agent/environments", { body: environment });
    const config = { environment_id: body.environment_id };
    const { message, reason } = await failedRun(["RUN: echo reject this report"], { config });
    expect(message).toMatch(/400: no \*\*\*$/);
    expect(reason).toMatch(/400: no \*\*\*$/);
  });

  test("with the outcome is reported as an outcome of its own", async () => {
    const { message } = await failedRun(["SAY: reject this outcome"]);
    // The first message quotes the server's answer, which the server rejects as well.
    expect(message).toBe("The worker could not report how the turn ended.");
  });
});

test("a worker works with a server of the previous version, which rejects claims of shells and harnesses", async () => {
  let claims = 0;
  const older = await startRejectingProxy(installation.origin, (path, body) => {
    const unknown = ["takes_shells", "takes_harnesses"].filter((field) => body.includes(field));
    if (!/\/claim$/.test(path) || unknown.length === 0) return undefined;
    claims += 1;
    expect(unknown).toHaveLength(2);
    return rejection(`\`/${unknown[0]}\` is not a known field.`);
  });
  const warnings: object[] = [];
  const log = { info() {}, warn: (fields: object) => void warnings.push(fields), error() {} };
  const worker = await installation.worker({ url: older.url, log });
  await vi.waitUntil(() => claims > 0, waitOptions);
  const run = await installation.create(["RUN: echo done"]);
  await installation.until(run, "SUCCEEDED");
  expect(warnings).toEqual([]);
  await worker.drain();
  older.stop();
});

test("a worker of another pool takes no runs from a server that does not know pools", async () => {
  let isOlder = true;
  const claims: { worker: { pool?: string }; free: number }[] = [];
  const server = await startRejectingProxy(installation.origin, (path, body) => {
    if (!/\/claim$/.test(path)) return undefined;
    claims.push(JSON.parse(body));
    return isOlder && body.includes('"pool"') ? rejection("`/worker/pool` is not a known field.") : undefined;
  });
  const labels = { region: "eu" };
  const worker = await installation.worker({ url: server.url, pool: "far", labels });
  await vi.waitUntil(() => claims.length > 1, waitOptions);
  expect(claims.slice(0, 2)).toMatchObject([
    { worker: { pool: "far", labels }, free: 8 },
    { worker: {}, free: 0 },
  ]);
  expect(claims[1]?.worker).not.toHaveProperty("pool");
  isOlder = false;
  const config = { worker_host: "far", worker_selector: labels };
  const run = await installation.create(["RUN: echo done"], { config });
  await installation.until(run, "SUCCEEDED");
  await worker.drain();
  server.stop();
});
