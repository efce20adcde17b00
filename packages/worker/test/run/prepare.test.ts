import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Assignment } from "@outrider/contract/worker";
import { expect, onTestFinished, test } from "vitest";
import type { BuildContext } from "../../src/builds/build.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import { prepareRun } from "../../src/run/prepare.ts";
import { connectToServer } from "../../src/server-client/server-client.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { startRejectingProxy } from "./rejecting-proxy.ts";

const provider = { kind: "local" } as BuildContext["provider"];

test("a notice about a repository that cannot be reported does not end the process", async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  const temporary = makeFolder();
  const origin = new Origin(temporary.folder, "media");
  const repos = [{ url: `file://${origin.bare}`, path: "media" }];
  const build = { build_id: randomUUID(), sha256: "0".repeat(64) };
  const built = repos.map((repo) => ({ ...repo, commit: origin.push("main", { a: "1" }) }));
  const proxy = await startRejectingProxy("http://127.0.0.1:1", () => ({
    status: 200,
    body: JSON.stringify({ state: "ready", build: { ...build, repositories: built } }),
  }));
  const server = connectToServer({ url: proxy.url, key: "key" });
  onTestFinished(() => {
    process.off("unhandledRejection", onUnhandled);
    server.stop();
    proxy.stop();
    temporary.remove();
  });

  origin.run("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},lost`);
  origin.run("commit", "--quiet", "--message", "x");
  origin.run("push", "--quiet", "origin", "HEAD:refs/heads/main");
  const repositories = openRepositories({
    folder: `${temporary.folder}/cache`,
    allowedPaths: [temporary.folder],
    log: silent,
  });
  const environment = { repos, setup_commands: [], credentials: {} };
  const assignment = { execution_id: "execution", run_id: "run", environment } as unknown as Assignment;
  const notices: string[] = [];
  const bases = { ensure: async () => "base" } as unknown as BuildContext["bases"];
  const prepared = prepareRun({ server, repositories, bases, provider } as BuildContext, {
    assignment,
    workerId: "worker",
    signal: new AbortController().signal,
    async emit(event) {
      if (event.type === "notice") notices.push(event.data.message);
      throw new Error("The server rejected a batch.");
    },
  });
  expect(await prepared).toMatchObject({ base: "base", moved: [{ path: "media" }] });
  await setImmediate();
  expect(notices).toEqual([expect.stringContaining("The submodule lost is not checked out")]);
  expect(unhandled).toEqual([]);
});

test.each([
  {
    last: { state: "ready", build: { build_id: randomUUID(), sha256: "0".repeat(64), repositories: [] } },
    end: "finished",
  },
  {
    last: {
      state: "failed",
      build_id: randomUUID(),
      status_message: { message: "No.", error_code: "environment_setup_failed", retryable: false },
    },
    end: "failed",
  },
])("the step that waits for another worker's build ends as $end", async ({ last, end }) => {
  const answers = [{ state: "building", build_id: randomUUID() }, last];
  const proxy = await startRejectingProxy("http://127.0.0.1:1", () => ({
    status: 200,
    body: JSON.stringify(answers.shift()),
  }));
  const server = connectToServer({ url: proxy.url, key: "key" });
  onTestFinished(() => {
    server.stop();
    proxy.stop();
  });
  const environment = { repos: [], setup_commands: ["true"], credentials: {} };
  const assignment = { execution_id: "execution", run_id: "run", environment } as unknown as Assignment;
  const bases = { ensure: async () => "base" } as unknown as BuildContext["bases"];
  const steps: string[] = [];
  await prepareRun({ server, bases, provider } as BuildContext, {
    assignment,
    workerId: "worker",
    signal: new AbortController().signal,
    async emit(event) {
      if (event.type === "environment.step") steps.push(`${event.data.name}: ${event.data.state}`);
    },
  }).catch(() => {});
  expect(steps).toEqual(["wait for the build: started", `wait for the build: ${end}`]);
});
