import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { git, makeFolder, Origin } from "./git-server.ts";
import { type Event, patience, startWorld, type World } from "./world.ts";

/** Runs in environments, from HTTP to the sandbox and back, on repositories that git serves. */

vi.setConfig({ testTimeout: 60_000 });

let world: World;
let place: ReturnType<typeof makeFolder>;
let site: Origin;
let web: Server;
let port: number;

beforeAll(async () => {
  place = makeFolder();
  site = new Origin(place.folder, "site");
  site.push("main", {
    "README.md": "hello\n",
    "src/page.txt": "one\ntwo\nthree\n",
    "old.txt": "to be renamed\n",
  });
  web = createServer((_request, response) => response.end("from the web\n"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  port = (web.address() as AddressInfo).port;
  world = await startWorld();
  await world.worker(settings());
});
afterAll(async () => {
  await world.stop();
  web.close();
  place.remove();
});

const settings = () => ({
  repositoryPaths: [place.folder],
  allowedAddresses: `127.0.0.1:${port}`,
});
const url = (origin: Origin) => `file://${origin.bare}`;

async function environment(body: object = {}): Promise<string> {
  const reply = await world.call("POST", "/agent/environments", {
    body: { name: `env ${randomUUID().slice(0, 8)}`, ...body },
  });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.environment_id;
}

/** A request by the proxy, with what every bash has. */
const fetched = (address: string) =>
  `(exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET ${address} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3)`;

const start = (environment_id: string, script: string[], body: object = {}) =>
  world.create(script, { config: { environment_id }, ...body });

async function succeed(environment_id: string, script: string[]) {
  const run = await start(environment_id, script);
  const item = await world.until(run, "SUCCEEDED");
  return { run, item, output: outputOf(await world.events(run)) };
}

const outputOf = (events: Event[]) =>
  events
    .filter(({ type }) => type === "command.output")
    .map(({ data }) => data.text)
    .join("");
const builds = async (environment_id: string) =>
  (await world.call("GET", `/agent/environments/${environment_id}/builds`)).body.builds;

describe("a run in an environment", () => {
  test("finds its repository at the branch's commit, and what setup commands made", async () => {
    const environment_id = await environment({
      repos: [{ url: url(site) }],
      setup_commands: ["date +%N > built", "echo in home > ~/home-file"],
    });
    const script = [
      "RUN: cat site/README.md site/built ~/home-file",
      "RUN: cd site && git status --short && git log --format=%H -1 && git remote -v | head -1",
    ];
    const first = await succeed(environment_id, script);
    const commit = git(site.copy, "rev-parse", "HEAD");
    expect(first.output).toMatch(
      new RegExp(`^hello\\n\\d+\\nin home\\n\\?\\? built\\n${commit}\\norigin\\t`),
    );
    expect(first.item.receipt).toMatchObject({
      environment: { environment_id, version: 1, build_id: expect.any(String) },
      repositories: [{ url: url(site), path: "site", commit, ref: expect.stringContaining("main") }],
      network: { mode: "none" },
      resources: { network: { enforced: true }, seccomp: { enforced: true } },
    });
    expect(first.item.timings).toMatchObject({ queued: expect.any(Number), preparing: expect.any(Number) });
    // The second one starts from the same build: what the first wrote is not there, what was built is.
    const second = await succeed(environment_id, script);
    expect(second.output).toBe(first.output);
    expect(await builds(environment_id)).toMatchObject([{ state: "READY", repositories: [{ commit }] }]);
  });

  test("tells of each step of a build, and the build's log tells what it printed", async () => {
    const environment_id = await environment({ setup_commands: ["echo making; echo to stderr >&2"] });
    const { run } = await succeed(environment_id, ["SAY: done"]);
    const steps = (await world.events(run)).filter(({ type }) => type === "environment.step");
    expect(steps.map(({ data }) => `${data.name} ${data.state}`)).toEqual([
      "echo making; echo to stderr >&2 started",
      "echo making; echo to stderr >&2 finished",
    ]);
    const log = `/agent/environments/${environment_id}/builds/${steps[0]?.data.build_id}/events`;
    const { text } = await world.call("GET", log, { accept: "text/event-stream" });
    expect(text).toContain("making\\n");
    expect(text).toContain("to stderr\\n");
    expect(text).toContain('"exit_code":0');
  });

  test("fails with the command, its exit code and its last lines where setup fails", async () => {
    const environment_id = await environment({
      setup_commands: ["seq 100; echo broken >&2; exit 7", "true"],
    });
    const run = await start(environment_id, ["SAY: never"]);
    const { status_message } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "environment_setup_failed", retryable: false });
    expect(status_message.message).toContain("exit 7` ended with exit code 7");
    expect(status_message.message).toContain("100\nbroken");
    expect(status_message.message).not.toContain("\n70\n");
    expect(await builds(environment_id)).toMatchObject([{ state: "FAILED" }]);
  });

  test("names the repository that cannot be had", async () => {
    const environment_id = await environment({ repos: [{ url: "file:///etc", path: "x" }] });
    const run = await start(environment_id, ["SAY: never"]);
    const { status_message } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "environment_setup_failed" });
    expect(status_message.message).toContain("/etc");
  });

  test("has its secrets and variables, which setup commands never see", async () => {
    await world.call("PUT", "/agent/secrets/SITE_TOKEN", { body: { value: "s3cret-value-of-site" } });
    const environment_id = await environment({
      variables: { COLOUR: "green" },
      secrets: ["SITE_TOKEN"],
      setup_commands: ["env > ~/seen-at-setup"],
    });
    const { output } = await succeed(environment_id, [
      'RUN: echo "$COLOUR ${#SITE_TOKEN}"; grep -c -e COLOUR -e SITE_TOKEN ~/seen-at-setup',
    ]);
    expect(output).toBe("green 20\n0\n");
  });
});

describe("a branch that has moved", () => {
  test("is what the next run sees, although its build is still the one before", async () => {
    const moving = new Origin(place.folder, "moving");
    moving.push("main", { file: "old\n" });
    const environment_id = await environment({
      repos: [{ url: url(moving), ref: "main" }],
      setup_commands: ["echo prepared > prepared"],
    });
    await succeed(environment_id, ["SAY: built"]);
    const commit = moving.push("main", { file: "new\n" });
    const { item, output } = await succeed(environment_id, [
      "RUN: cd moving; cat file prepared; git status -sb",
    ]);
    expect(output).toBe("new\nprepared\n## main\n?? prepared\n");
    const [first] = await builds(environment_id).then((all: { build_id: string }[]) => all.slice(-1));
    expect(item.receipt).toMatchObject({
      environment: { build_id: first?.build_id },
      repositories: [{ commit }],
    });
    // Meanwhile the newer build is made, and later runs start from it.
    const newer = await vi.waitUntil(
      async () =>
        (await builds(environment_id)).find(
          (one: { state: string; repositories: { commit: string }[] }) =>
            one.state === "READY" && one.repositories[0]?.commit === commit,
        ),
      patience,
    );
    const third = await succeed(environment_id, ["RUN: cat moving/file"]);
    expect(third.item.receipt.environment.build_id).toBe(newer.build_id);
    // A force-push that throws commits away is followed too.
    moving.run("reset", "--hard", "HEAD~1");
    moving.push("main", { file: "forced\n" });
    expect((await succeed(environment_id, ["RUN: cat moving/file"])).output).toBe("forced\n");
  });
});

describe("what a run changes", () => {
  test("is one patch that turns its starting commits into its files", async () => {
    const environment_id = await environment({ repos: [{ url: url(site) }] });
    const { run } = await succeed(environment_id, [
      "RUN: cd site && git mv old.txt renamed.txt && sed -i s/two/2/ src/page.txt && rm README.md",
      "RUN: cd site && printf 'a\\0b\\377' > binary && mkdir -p new/deep && echo fresh > new/deep/file && chmod +x src/page.txt",
      "RUN: cd site && git add -A && git -c user.name=a -c user.email=a@b.c commit -qm half && echo after > untracked",
    ]);
    const { text } = await world.call("GET", `/agent/runs/${run}/diff`);
    const copy = join(place.folder, "applied");
    git("/", "clone", "--quiet", site.bare, copy);
    writeFileSync(join(place.folder, "run.patch"), text);
    execFileSync("git", ["apply", join(place.folder, "run.patch")], { cwd: copy });
    expect(existsSync(join(copy, "README.md"))).toBe(false);
    expect(readFileSync(join(copy, "src/page.txt"), "utf8")).toBe("one\n2\nthree\n");
    expect(readFileSync(join(copy, "binary"))).toEqual(Buffer.from([0x61, 0, 0x62, 0xff]));
    expect(readFileSync(join(copy, "new/deep/file"), "utf8")).toBe("fresh\n");
    expect(readFileSync(join(copy, "untracked"), "utf8")).toBe("after\n");
    expect(text).toContain("rename from old.txt");
    const { body } = await world.call("GET", `/agent/runs/${run}`);
    expect(body.artifacts).toMatchObject([
      { type: "PATCH", name: "changes.patch", mime_type: "text/x-diff" },
    ]);
  });

  test("in several repositories is one patch too, whose paths begin at the workspace", async () => {
    const other = new Origin(place.folder, "other");
    other.push("main", { "a file": "to be moved\n" });
    const repos = [{ url: url(site), path: "deep/site" }, { url: url(other) }];
    const { run } = await succeed(await environment({ repos }), [
      "RUN: git -C other mv 'a file' 'another file' && echo more >> deep/site/README.md",
    ]);
    const { text } = await world.call("GET", `/agent/runs/${run}/diff`);
    const copy = join(place.folder, "both");
    git("/", "clone", "--quiet", site.bare, join(copy, "deep/site"));
    git("/", "clone", "--quiet", other.bare, join(copy, "other"));
    writeFileSync(join(place.folder, "both.patch"), text);
    execFileSync("git", ["apply", join(place.folder, "both.patch")], { cwd: copy });
    expect(readFileSync(join(copy, "deep/site/README.md"), "utf8")).toBe("hello\nmore\n");
    expect(readFileSync(join(copy, "other/another file"), "utf8")).toBe("to be moved\n");
    expect(existsSync(join(copy, "other/a file"))).toBe(false);
  });

  test("without a repository is held against nothing, and nothing changed is an empty patch", async () => {
    const run = await world.create(["WRITE: notes.txt | hello"]);
    await world.until(run, "SUCCEEDED");
    expect((await world.call("GET", `/agent/runs/${run}/diff`)).text).toContain("+hello");
    const idle = await world.create(["SAY: nothing"]);
    await world.until(idle, "SUCCEEDED");
    expect(await world.call("GET", `/agent/runs/${idle}/diff`)).toMatchObject({ status: 200, text: "" });
  });

  test("holds no secret, however it is written", async () => {
    await world.call("PUT", "/agent/secrets/PATCH_TOKEN", { body: { value: "patched-secret-42" } });
    const environment_id = await environment({ repos: [{ url: url(site) }], secrets: ["PATCH_TOKEN"] });
    const { run } = await succeed(environment_id, [
      'RUN: cd site && echo "$PATCH_TOKEN" > plain && echo -n "$PATCH_TOKEN" | base64 > encoded',
    ]);
    const { text } = await world.call("GET", `/agent/runs/${run}/diff`);
    expect(text).toContain("b/encoded");
    expect(text).not.toContain("patched-secret-42");
    expect(text).not.toContain(Buffer.from("patched-secret-42").toString("base64").slice(0, 16));
  });
});

describe("the network of an environment", () => {
  test("reaches what it allows, and a refusal stands in the transcript", async () => {
    const environment_id = await environment({ network: { mode: "allowlist", allow: ["allowed.test"] } });
    const { run, output } = await succeed(environment_id, [`RUN: ${fetched("http://other.test/")}`]);
    expect(output).toContain("HTTP/1.1 403");
    const notices = (await world.events(run)).filter(({ data }) => data.code === "network_refused");
    expect(notices.map(({ data }) => data.message).join("\n")).toContain("other.test:80");
  });

  test("open reaches what the operator allows of the inner network, and nothing else of it", async () => {
    const environment_id = await environment({ network: { mode: "open" } });
    const { output } = await succeed(environment_id, [
      `RUN: ${fetched(`http://127.0.0.1:${port}/`)} | tail -1`,
      `RUN: ${fetched(`http://127.0.0.1:${port + 1}/`)} | head -1`,
    ]);
    expect(output).toMatch(/^from the web\nHTTP\/1.1 403/);
  });

  test("none has no way out", async () => {
    const environment_id = await environment({ network: { mode: "none" }, variables: { A: "b" } });
    const { output } = await succeed(environment_id, [
      `RUN: ${fetched("http://127.0.0.1/")} 2>&1 | head -1; env | grep -ci proxy`,
    ]);
    expect(output).toMatch(/refused.*\n0\n$/is);
  });
});

describe("a worker that is told to go while it makes a build", () => {
  test("hands run and build back, and another makes both at no cost", async () => {
    const other = await startWorld();
    try {
      const leaving = await other.worker({ ...settings(), drainMs: 1 });
      const { body } = await other.call("POST", "/agent/environments", {
        body: { name: "slow", setup_commands: ["sleep 2; echo made > made"] },
      });
      const run = await other.create(["RUN: cat made"], { config: { environment_id: body.environment_id } });
      await other.event(run, ({ type }) => type === "environment.step");
      await leaving.drain();
      await other.worker(settings());
      expect(await other.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
      expect(outputOf(await other.events(run))).toBe("made\n");
    } finally {
      await other.stop();
    }
  });
});

describe("a follow-up on another machine", () => {
  let elsewhere: World;
  afterEach(() => elsewhere?.stop());

  test("finds the run's files over the same build, although nothing of it is there yet", async () => {
    elsewhere = await startWorld();
    const first = await elsewhere.worker(settings());
    const made = await elsewhere.call("POST", "/agent/environments", {
      body: { name: "far", repos: [{ url: url(site) }], setup_commands: ["date +%N > built; echo x > gone"] },
    });
    const run = await elsewhere.create(["RUN: cd site; rm gone; echo mine >> src/page.txt; cat built"], {
      config: { environment_id: made.body.environment_id },
    });
    await elsewhere.until(run, "SUCCEEDED");
    await first.drain();
    await elsewhere.worker(settings());
    await elsewhere.followUp(run, ["RUN: cd site; cat built; ls; tail -1 src/page.txt"]);
    await elsewhere.until(run, "SUCCEEDED");
    const [before, after] = outputOf(await elsewhere.events(run)).split(/(?<=^\d+\n)/);
    expect(after).toBe(`${before}README.md\nbuilt\nold.txt\nsrc\nmine\n`);
  });
});

describe("resources", () => {
  test("that an environment asks for stand on the receipt, hold, and say so where they are reached", async () => {
    const environment_id = await environment({ resources: { pids: 40, memory_mb: 128 } });
    const run = await start(environment_id, [
      "RUN: for i in $(seq 100); do sleep 5 & done 2> /dev/null; echo",
      "RUN: head -c 400M /dev/zero | tail > /dev/null",
    ]);
    await world.until(run, "SUCCEEDED");
    const output = outputOf(await world.events(run));
    expect(output).toContain("outrider: the sandbox's limit of 40 processes was reached.");
    expect(output).toContain("outrider: a process was killed at the sandbox's memory limit of 128 MB.");
    const { receipt } = await world.get(run);
    expect(receipt.resources).toMatchObject({
      pids: { enforced: true, limit: 40 },
      memory: { enforced: true, limit: 128 },
    });
  });

  test("do not outlive their use: the least recently used builds go when there are too many", async () => {
    const small = await startWorld();
    const worker = await small.worker({ ...settings(), cacheBytes: 300_000 });
    try {
      const ids: string[] = [];
      for (const name of ["a", "b", "c"]) {
        const { body } = await small.call("POST", "/agent/environments", {
          body: { name, setup_commands: [`head -c 200000 /dev/urandom > ${name}`] },
        });
        ids.push(body.environment_id);
        const run = await small.create([`RUN: wc -c < ${name}`], {
          config: { environment_id: body.environment_id, idle_timeout_minutes: 0 },
        });
        await small.until(run, "SUCCEEDED");
      }
      await vi.waitFor(() => expect(small.bases()).toHaveLength(1), patience);
      // What went is fetched again from the server, and not built anew.
      const [first] = ids;
      const run = await small.create(["RUN: wc -c < a"], { config: { environment_id: first } });
      await small.until(run, "SUCCEEDED");
      expect(outputOf(await small.events(run))).toBe("200000\n");
      const { body } = await small.call("GET", `/agent/environments/${first}/builds`);
      expect(body.builds).toHaveLength(1);
    } finally {
      await worker.drain();
      await small.stop();
    }
  });
});
