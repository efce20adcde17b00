import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GitHubStub, startGitHubStub } from "../../packages/server/test/forges/github-stub.ts";
import { makePrivateCa } from "../../packages/worker/test/egress/private-ca.ts";
import { startTestInstallation } from "../../packages/worker/test/installation.ts";
import { makeFolder } from "../../packages/worker/test/repositories/git-server.ts";
import type { Behavior, Outcome } from "./behavior.ts";
import { behaviors } from "./behaviors.ts";
import { startFaultProxy } from "./fault-proxy.ts";
import { runPython } from "./python.ts";
import { type DriverInput, runTypescript } from "./typescript.ts";

/** Test drivers by language. */
const drivers: Record<string, (input: DriverInput) => Promise<Outcome[]>> = {
  TypeScript: runTypescript,
  Python: (input) => runPython(input, "sync"),
  "asynchronous Python": (input) => runPython(input, "async"),
};

const certificates = makeFolder();
const { caFile, tls } = makePrivateCa(certificates.folder, []);
let github: GitHubStub;

const stops: (() => Promise<void>)[] = [];
const outcomesOf = new Map<string, Promise<Outcome[]>>();

/** The drivers run in parallel, each with its own installation, because they mostly wait. */
beforeAll(async () => {
  github = await startGitHubStub({ tls });
  await github.addRepository("acme/api");
  await Promise.all(Object.entries(drivers).map(([name, run]) => start(name, run)));
});
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await github?.close();
  certificates.remove();
});

async function start(name: string, run: (input: DriverInput) => Promise<Outcome[]>) {
  const installation = await startTestInstallation({ OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" });
  await installation.worker({ extraCa: caFile, allowedAddresses: "127.0.0.1" });
  const proxy = await startFaultProxy(installation.origin);
  stops.push(async () => {
    await proxy.close();
    await installation.stop();
  });
  const outcomes = run({
    server: installation.origin,
    proxy: proxy.origin,
    key: installation.key,
    given: { github: { url: github.url, token: github.token } },
    behaviors,
  });
  // The test that awaits the driver reports its failure.
  outcomes.catch(() => {});
  outcomesOf.set(name, outcomes);
}

describe.each(Object.keys(drivers))("the %s SDK", (driver) => {
  const outcomes = new Map<string, Outcome>();

  test("runs every behavior", async () => {
    for (const outcome of (await outcomesOf.get(driver)) ?? []) outcomes.set(outcome.name, outcome);
    expect([...outcomes.keys()]).toEqual(behaviors.map(({ name }) => name));
  });

  test.each(behaviors.map((each) => [each.name, each] as const))("%s", (name, behavior) => {
    const outcome = outcomes.get(name);
    expect(outcome).toBeDefined();
    if (outcome) expectOutcome(outcome, behavior);
  });
});

function expectOutcome({ name: _, elapsed_ms, ...outcome }: Outcome, behavior: Behavior): void {
  const { at_least_ms = 0 } = behavior;
  const requests = behavior.expect.requests < 0 ? outcome.requests : behavior.expect.requests;
  expect(outcome).toEqual({ ...behavior.expect, requests });
  expect(elapsed_ms).toBeGreaterThanOrEqual(at_least_ms);
}

test("all requests to GitHub conform to its published schemas", () => {
  expect(github.violations).toEqual([]);
});

test("behavior names are unique", () => {
  expect(new Set(behaviors.map(({ name }) => name)).size).toBe(behaviors.length);
});
