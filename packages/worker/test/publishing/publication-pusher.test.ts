import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { Worker } from "../../src/worker.ts";
import { makePrivateCa } from "../egress/private-ca.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { git, type HttpServer, makeFolder, Origin, serveHttp } from "../repositories/git-server.ts";

/** Publications end to end: a git server, a server and a worker. */

const PASSWORD = "a-long-password-for-git";
const origins = makeFolder();
const certificates = makeFolder();
let installation: TestInstallation;
let gitServer: HttpServer;
let origin: Origin;
let worker: Worker;
let commandLines: Set<string>;
let caFile: string;

beforeAll(async () => {
  const ca = makePrivateCa(certificates.folder, []);
  caFile = ca.caFile;
  gitServer = await serveHttp(origins.folder, `bob:${PASSWORD}`, ca);
  installation = await startTestInstallation();
  await installation.call("PUT", "/agent/secrets/GIT_TOKEN", { body: { value: `bob:${PASSWORD}` } });
  worker = await startWorker();
});
afterAll(async () => {
  await installation?.stop();
  await gitServer?.stop();
  origins.remove();
  certificates.remove();
});
beforeEach(() => {
  origin = new Origin(origins.folder, `origin-${randomUUID()}`);
  git(origin.bare, "config", "http.receivepack", "true");
  origin.push("main", { "README.md": "first\n" });
  commandLines = new Set();
});
afterEach(() => {
  gitServer.before = () => {};
});

const startWorker = () => installation.worker({ slots: 2, extraCa: caFile, allowedAddresses: "127.0.0.1" });

async function environment(publish: object) {
  const url = `https://${gitServer.host}/${origin.bare.split("/").at(-1)}`;
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name: `env ${randomUUID()}`, repos: [{ url, path: "app", secret: "GIT_TOKEN", publish }] },
  });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.environment_id as string;
}

const publications = async (run: string) =>
  (await installation.call("GET", `/agent/runs/${run}/publications`)).body.publications;

const ended = (run: string, state: string) =>
  vi.waitUntil(async () => {
    const all = await publications(run);
    return all.length > 0 && all.every((each: { state: string }) => each.state === state) ? all : undefined;
  }, waitOptions);

const branches = () => git(origin.bare, "for-each-ref", "--format=%(refname:short)").split("\n");

/** Records the command lines of all processes of this machine, in which no credential may be. */
function recordProcesses() {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      commandLines.add(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      // It has exited.
    }
  }
}

describe("a run's changes", () => {
  test("are pushed at the end of each turn, without the credential anywhere else", async () => {
    const environment_id = await environment({ publish: "branch", when: "on_success" });
    gitServer.before = () => recordProcesses();
    const config = { environment_id };
    const run = await installation.create(["RUN: echo 1 > new && env && cat .git/config", "SAY: done"], {
      config,
    });
    await installation.until(run, "SUCCEEDED");
    const [publication] = await ended(run, "DONE");
    expect(branches()).toEqual(["main", publication.branch]);
    expect(git(origin.bare, "show", `${publication.branch}:new`)).toBe("1");
    await installation.followUp(run, ["RUN: echo 2 > new", "SAY: done"]);
    await installation.until(run, "SUCCEEDED");
    const all = await vi.waitUntil(async () => {
      const found = await publications(run);
      return found.length === 2 && found.every(({ state }: { state: string }) => state === "DONE")
        ? found
        : undefined;
    }, waitOptions);
    expect(all).toHaveLength(2);
    expect(git(origin.bare, "log", "--format=%s", `main..${publication.branch}`).split("\n")).toHaveLength(2);
    expect(git(origin.bare, "show", `${publication.branch}:new`)).toBe("2");
    const events = await installation.events(run);
    expect(events.filter(({ type }) => type === "branch.pushed")).toHaveLength(2);
    expect(JSON.stringify(events)).not.toContain(PASSWORD);
    expect(commandLines.size).toBeGreaterThan(0);
    expect([...commandLines].filter((line) => line.includes(PASSWORD))).toEqual([]);
  });

  test("with a secret are not pushed, and the user learns where it is", async () => {
    const environment_id = await environment({ publish: "branch", when: "on_success" });
    const run = await installation.create(
      [
        `RUN: git config user.name a && printf '1\\n${PASSWORD.slice(0, 8)}'"${PASSWORD.slice(8)}" > config.txt`,
        "SAY: done",
      ],
      { config: { environment_id } },
    );
    await installation.until(run, "SUCCEEDED");
    const [publication] = await ended(run, "FAILED");
    expect(publication.status_message.message).toMatch(/config\.txt.*2|line 2.*config\.txt/);
    expect(JSON.stringify(await publications(run))).not.toContain(PASSWORD);
    expect(branches()).toEqual(["main"]);
  });

  test("are pushed once when the git server is down, and when the worker is replaced", async () => {
    const environment_id = await environment({ publish: "branch", when: "on_success" });
    let refused = 0;
    gitServer.before = (request, response) => {
      if (!request.url?.includes("receive-pack")) return;
      refused++;
      response.writeHead(503).end();
    };
    const run = await installation.create(["RUN: echo 1 > new", "SAY: done"], {
      config: { environment_id },
    });
    await installation.until(run, "SUCCEEDED");
    await vi.waitUntil(() => refused > 0, waitOptions);
    await worker.drain();
    worker = await startWorker();
    gitServer.before = () => {};
    const [publication] = await ended(run, "DONE");
    expect(branches()).toEqual(["main", publication.branch]);
    expect(git(origin.bare, "rev-list", "--count", `main..${publication.branch}`)).toBe("1");
  });
});
