import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { outputOf, startTestInstallation, type TestInstallation } from "../installation.ts";
import { git, makeFolder, Origin } from "../repositories/git-server.ts";

/** Runs in environments, end to end, with real repositories. */

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let site: Origin;
let web: Server;
let port: number;

beforeAll(async () => {
  temporary = makeFolder();
  site = new Origin(temporary.folder, "site");
  site.push("main", {
    "README.md": "hello\n",
    "src/page.txt": "one\ntwo\nthree\n",
    "old.txt": "to be renamed\n",
  });
  web = createServer((_request, response) => response.end("from the web\n"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  port = (web.address() as AddressInfo).port;
  installation = await startTestInstallation();
  await installation.worker(settings());
});
afterAll(async () => {
  await installation.stop();
  web.close();
  temporary.remove();
});

const settings = () => ({
  repositoryPaths: [temporary.folder],
  allowedAddresses: `127.0.0.1:${port}`,
});
const url = (origin: Origin) => `file://${origin.bare}`;

async function environment(body: object = {}): Promise<string> {
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name: `env ${randomUUID().slice(0, 8)}`, ...body },
  });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.environment_id;
}

/** Sends a request through the proxy with bash alone. */
const fetched = (address: string) =>
  `(exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET ${address} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3)`;

const start = (environment_id: string, script: string[], body: object = {}) =>
  installation.create(script, { config: { environment_id }, ...body });

async function succeed(environment_id: string, script: string[]) {
  const run = await start(environment_id, script);
  const item = await installation.until(run, "SUCCEEDED");
  return { run, item, output: outputOf(await installation.events(run)) };
}

const builds = async (environment_id: string) =>
  (await installation.call("GET", `/agent/environments/${environment_id}/builds`)).body.builds;

describe("a run in an environment", () => {
  test("starts in its only repository, and the paths of tools are relative to it", async () => {
    const environment_id = await environment({ repos: [{ url: url(site), path: "a b/site" }] });
    const script = [
      "RUN: pwd; echo changed >> README.md; echo outside > /workspace/outside",
      "WRITE: src/new.txt | new",
      'CALL: read_file {"path": "src/page.txt"}',
      'CALL: find_files {"pattern": "*.txt"}',
      'CALL: search_files {"pattern": "two"}',
    ];
    const run = await start(environment_id, script);
    const item = await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("/workspace/a b/site\n");
    expect(item.receipt.working_folder).toBe("/workspace/a b/site");
    const changes = events.filter(({ type }) => type === "file.changed").map(({ data }) => data);
    expect(changes.map(({ path }) => path).sort()).toEqual([
      "/workspace/outside",
      "README.md",
      "src/new.txt",
    ]);
    expect(changes.find(({ path }) => path === "README.md")?.patch).toMatch(
      /^--- a\/README.md\t?\n\+\+\+ b\/README.md\t?\n@@/,
    );
    const results = events.filter(({ type }) => type === "tool.returned").map(({ data }) => data.output);
    expect(results.slice(-3)).toEqual([
      expect.stringMatching(/^1\tone\n/),
      "old.txt\nsrc/new.txt\nsrc/page.txt",
      "src/page.txt\n2: two",
    ]);
    const { text } = await installation.call("GET", `/agent/runs/${run}/diff`);
    expect(text).toContain("+++ b/src/new.txt");
    expect(events.find(({ type }) => type === "run.started")?.data.instructions).toContain(
      "Commands start in /workspace/a b/site, and paths are relative to it. It is a git repository",
    );
  });

  test("starts in the workspace with several repositories", async () => {
    const repos = [{ url: url(site) }, { url: url(site), path: "other" }];
    const { output, item } = await succeed(await environment({ repos }), ["RUN: pwd; ls"]);
    expect(output).toBe("/workspace\nother\nsite\n");
    expect(item.receipt.working_folder).toBe("/workspace");
  });

  test("commits as its creator, or as the author that the environment sets", async () => {
    const script = ["RUN: echo x >> README.md; git commit -qam change; git log -1 --format='%an <%ae> %cn'"];
    const repos = [{ url: url(site) }];
    const byCreator = await succeed(await environment({ repos }), script);
    const { display_name, email } = byCreator.item.creator;
    expect(byCreator.output).toBe(`${display_name} <${email}> Outrider\n`);
    const git_author = { name: "Build Bot", email: "bot@example.com" };
    const byBot = await succeed(await environment({ repos, git_author }), script);
    expect(byBot.output).toBe("Build Bot <bot@example.com> Outrider\n");
  });

  test("has its repository at the branch's commit and the results of setup commands", async () => {
    const environment_id = await environment({
      repos: [{ url: url(site) }],
      setup_commands: ["date +%N > built", "echo in home > ~/home-file"],
    });
    const script = [
      "RUN: cat README.md built ~/home-file",
      "RUN: git status --short && git log --format=%H -1 && git remote -v | head -1",
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
    // The second run starts from the same build and does not see what the first one wrote.
    const second = await succeed(environment_id, script);
    expect(second.output).toBe(first.output);
    expect(await builds(environment_id)).toMatchObject([{ state: "READY", repositories: [{ commit }] }]);
  });

  test("reports each build step, and the build log contains the output", async () => {
    const environment_id = await environment({ setup_commands: ["echo making; echo to stderr >&2"] });
    const { run } = await succeed(environment_id, ["SAY: done"]);
    const steps = (await installation.events(run)).filter(({ type }) => type === "environment.step");
    expect(steps.map(({ data }) => `${data.name} ${data.state}`)).toEqual([
      "echo making; echo to stderr >&2 started",
      "echo making; echo to stderr >&2 finished",
    ]);
    const log = `/agent/environments/${environment_id}/builds/${steps[0]?.data.build_id}/events`;
    const { text } = await installation.call("GET", log, { accept: "text/event-stream" });
    expect(text).toContain("making\\n");
    const printed = [...text.matchAll(/"text":"([^"]*)"/g)].map(([, part]) => part);
    expect(printed.join("")).toMatch(/^making\\nto stderr\\nStored \d+ kB\.\\n$/);
    expect(text).toContain('"exit_code":0');
  });

  test("fails with the command, its exit code and its last lines if setup fails", async () => {
    const environment_id = await environment({
      setup_commands: ["seq 100; echo broken >&2; exit 7", "true"],
    });
    const run = await start(environment_id, ["SAY: never"]);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "environment_setup_failed", retryable: false });
    expect(status_message.message).toContain("exit 7` exited with code 7");
    expect(status_message.message).toContain("100\nbroken");
    expect(status_message.message).not.toContain("\n70\n");
    expect(await builds(environment_id)).toMatchObject([{ state: "FAILED" }]);
  });

  test("fails with the name of an unavailable repository", async () => {
    const environment_id = await environment({ repos: [{ url: "file:///etc", path: "x" }] });
    const run = await start(environment_id, ["SAY: never"]);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "environment_setup_failed" });
    expect(status_message.message).toContain("/etc");
  });

  test("has its secrets and variables; setup commands have the variables", async () => {
    await installation.call("PUT", "/agent/secrets/SITE_TOKEN", { body: { value: "s3cret-value-of-site" } });
    const environment_id = await environment({
      variables: { COLOUR: "green" },
      secrets: ["SITE_TOKEN"],
      setup_commands: ["env > ~/seen-at-setup"],
    });
    const { output } = await succeed(environment_id, [
      'RUN: echo "$COLOUR ${#SITE_TOKEN}"; grep -e COLOUR -e SITE_TOKEN ~/seen-at-setup',
    ]);
    expect(output).toBe("green 20\nCOLOUR=green\n");
  });
});

describe("a branch that has moved", () => {
  test("is updated in the next run even though the build is older", async () => {
    const moving = new Origin(temporary.folder, "moving");
    moving.push("main", { file: "old\n" });
    const environment_id = await environment({
      repos: [{ url: url(moving), ref: "main" }],
      setup_commands: ["echo prepared > prepared"],
    });
    await succeed(environment_id, ["SAY: built"]);
    const commit = moving.push("main", { file: "new\n" });
    const { item, output } = await succeed(environment_id, ["RUN: cat file prepared; git status -sb"]);
    expect(output).toBe("new\nprepared\n## main\n?? prepared\n");
    const [first] = await builds(environment_id).then((all: { build_id: string }[]) => all.slice(-1));
    expect(item.receipt).toMatchObject({
      environment: { build_id: first?.build_id },
      repositories: [{ commit }],
    });
    // Meanwhile a newer build is made, and later runs start from it.
    const newer = await vi.waitUntil(
      async () =>
        (await builds(environment_id)).find(
          (build: { state: string; repositories: { commit: string }[] }) =>
            build.state === "READY" && build.repositories[0]?.commit === commit,
        ),
      waitOptions,
    );
    const third = await succeed(environment_id, ["RUN: cat file"]);
    expect(third.item.receipt.environment.build_id).toBe(newer.build_id);
    // A force-push that removes commits is followed too.
    moving.run("reset", "--hard", "HEAD~1");
    moving.push("main", { file: "forced\n" });
    const forced = await succeed(environment_id, ["RUN: cat file"]);
    expect(forced.output).toBe("forced\n");
    // The update is not in the build, so it is stored even though the run has changed nothing.
    const [row] =
      await installation.db`select snapshot_sha256 from runs where run_id = ${forced.item.run_id}`;
    expect(row?.snapshot_sha256).toEqual(expect.any(String));
  });
});

describe("the diff of a run", () => {
  test("is a patch from the starting commit to the current files", async () => {
    const environment_id = await environment({ repos: [{ url: url(site) }] });
    const { run } = await succeed(environment_id, [
      "RUN: git mv old.txt renamed.txt && sed -i s/two/2/ src/page.txt && rm README.md",
      "RUN: printf 'a\\0b\\377' > binary && mkdir -p new/deep && echo fresh > new/deep/file && chmod +x src/page.txt",
      "RUN: git add -A && git -c user.name=a -c user.email=a@b.c commit -qm half && echo after > untracked",
    ]);
    const { text } = await installation.call("GET", `/agent/runs/${run}/diff`);
    const copy = join(temporary.folder, "applied");
    git("/", "clone", "--quiet", site.bare, copy);
    writeFileSync(join(temporary.folder, "run.patch"), text);
    execFileSync("git", ["apply", join(temporary.folder, "run.patch")], { cwd: copy });
    expect(existsSync(join(copy, "README.md"))).toBe(false);
    expect(readFileSync(join(copy, "src/page.txt"), "utf8")).toBe("one\n2\nthree\n");
    expect(readFileSync(join(copy, "binary"))).toEqual(Buffer.from([0x61, 0, 0x62, 0xff]));
    expect(readFileSync(join(copy, "new/deep/file"), "utf8")).toBe("fresh\n");
    expect(readFileSync(join(copy, "untracked"), "utf8")).toBe("after\n");
    expect(text).toContain("rename from old.txt");
    const { body } = await installation.call("GET", `/agent/runs/${run}`);
    expect(body.artifacts).toMatchObject([
      { artifact_type: "PATCH", name: "changes.patch", mime_type: "text/x-diff" },
    ]);
  });

  test("covers several repositories, with paths relative to the workspace", async () => {
    const other = new Origin(temporary.folder, "other");
    other.push("main", { "a file": "to be moved\n" });
    const repos = [{ url: url(site), path: "deep/site" }, { url: url(other) }];
    const { run } = await succeed(await environment({ repos }), [
      "RUN: git -C other mv 'a file' 'another file' && echo more >> deep/site/README.md",
    ]);
    const { text } = await installation.call("GET", `/agent/runs/${run}/diff`);
    const copy = join(temporary.folder, "both");
    git("/", "clone", "--quiet", site.bare, join(copy, "deep/site"));
    git("/", "clone", "--quiet", other.bare, join(copy, "other"));
    writeFileSync(join(temporary.folder, "both.patch"), text);
    execFileSync("git", ["apply", join(temporary.folder, "both.patch")], { cwd: copy });
    expect(readFileSync(join(copy, "deep/site/README.md"), "utf8")).toBe("hello\nmore\n");
    expect(readFileSync(join(copy, "other/another file"), "utf8")).toBe("to be moved\n");
    expect(existsSync(join(copy, "other/a file"))).toBe(false);
  });

  test("shows all files as new without a repository, and is empty without changes", async () => {
    const run = await installation.create(["WRITE: notes.txt | hello"]);
    await installation.until(run, "SUCCEEDED");
    expect((await installation.call("GET", `/agent/runs/${run}/diff`)).text).toContain("+hello");
    const idle = await installation.create(["SAY: nothing"]);
    await installation.until(idle, "SUCCEEDED");
    expect(await installation.call("GET", `/agent/runs/${idle}/diff`)).toMatchObject({
      status: 200,
      text: "",
    });
  });

  test("contains no secret in any encoding", async () => {
    await installation.call("PUT", "/agent/secrets/PATCH_TOKEN", { body: { value: "patched-secret-42" } });
    const environment_id = await environment({ repos: [{ url: url(site) }], secrets: ["PATCH_TOKEN"] });
    const { run } = await succeed(environment_id, [
      'RUN: echo "$PATCH_TOKEN" > plain && echo -n "$PATCH_TOKEN" | base64 > encoded',
    ]);
    const { text } = await installation.call("GET", `/agent/runs/${run}/diff`);
    expect(text).toContain("b/encoded");
    expect(text).not.toContain("patched-secret-42");
    expect(text).not.toContain(Buffer.from("patched-secret-42").toString("base64").slice(0, 16));
  });
});

describe("the network of an environment", () => {
  test("allows listed hosts and records refusals in the transcript", async () => {
    const environment_id = await environment({ network: { mode: "allowlist", allow: ["allowed.test"] } });
    const { run, output } = await succeed(environment_id, [`RUN: ${fetched("http://other.test/")}`]);
    expect(output).toContain("HTTP/1.1 403");
    const notices = (await installation.events(run)).filter(({ data }) => data.code === "network_refused");
    expect(notices.map(({ data }) => data.message).join("\n")).toContain("other.test:80");
  });

  test("names refused hosts in the error of a failed turn, also in a warm sandbox", async () => {
    const environment_id = await environment({ network: { mode: "allowlist", allow: ["allowed.test"] } });
    const hosts = ["a", "b", "c", "d", "e"].map((name) => `${name}.test`);
    const script = [
      `RUN: ${hosts.map((host) => fetched(`http://${host}/`)).join("; ")}`,
      "FAIL: no packages",
    ];
    const run = await start(environment_id, script);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message.message).toMatch(
      /^no packages.*\nThe network policy may be the cause: a\.test:80 was refused/s,
    );
    expect(status_message.message).toContain("The environment's owner can add `a.test` to `network.allow`.");
    expect(status_message.message).toMatch(/c\.test:80 .* 2 more hosts were refused\.$/);
    await installation.followUp(run, [`RUN: ${fetched("http://a.test/")}`, "FAIL: still no packages"]);
    const again = await vi.waitUntil(async () => {
      const item = await installation.get(run);
      return item.turns === 2 && item.state === "FAILED" ? item : undefined;
    }, waitOptions);
    expect(again.status_message.message).toMatch(/still no packages.*a\.test:80 was refused/s);
  });

  test("names refused hosts in the error of a failed build", async () => {
    const environment_id = await environment({
      network: { mode: "allowlist", allow: ["allowed.test"] },
      setup_commands: [`${fetched("http://registry.test/")}; exit 7`],
    });
    const { status_message } = await installation.until(
      await start(environment_id, ["SAY: never"]),
      "FAILED",
    );
    expect(status_message.error_code).toBe("environment_setup_failed");
    expect(status_message.message).toMatch(
      /exited with code 7.*registry\.test:80 was refused: it is not in/s,
    );
  });

  test("with mode open reaches only the private addresses that the operator allows", async () => {
    const environment_id = await environment({ network: { mode: "open" } });
    const { output } = await succeed(environment_id, [
      `RUN: ${fetched(`http://127.0.0.1:${port}/`)} | tail -1`,
      `RUN: ${fetched(`http://127.0.0.1:${port + 1}/`)} | head -1`,
    ]);
    expect(output).toMatch(/^from the web\nHTTP\/1.1 403/);
    const { run } = await succeed(environment_id, [
      `CALL: fetch_url {"url": "http://127.0.0.1:${port}/"}`,
      `CALL: fetch_url {"url": "http://127.0.0.1:${port + 1}/"}`,
    ]);
    const results = (await installation.events(run)).filter(({ type }) => type === "tool.returned");
    expect(results.map(({ data }) => data.output)).toEqual([
      "from the web\n",
      expect.stringContaining(`Outrider refused 127.0.0.1:${port + 1}: it resolves to a private`),
    ]);
  });

  test("with mode none reaches nothing", async () => {
    const environment_id = await environment({ network: { mode: "none" }, variables: { A: "b" } });
    const { output } = await succeed(environment_id, [
      `RUN: ${fetched("http://127.0.0.1/")} 2>&1 | head -1; env | grep -ci proxy`,
    ]);
    expect(output).toMatch(/refused.*\n0\n$/is);
    const { run } = await succeed(environment_id, [`CALL: fetch_url {"url": "http://127.0.0.1:${port}/"}`]);
    const result = await installation.event(run, ({ type }) => type === "tool.returned");
    expect(result.data).toMatchObject({ is_error: true, output: expect.stringContaining("has no network") });
  });
});

describe("a worker that drains during a build", () => {
  test("returns the run and the build, and another worker completes both", async () => {
    const other = await startTestInstallation();
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

describe("a build whose lease is lost", () => {
  test("is made again by the same worker, whose first sandbox is still open", async () => {
    const other = await startTestInstallation();
    try {
      await other.worker(settings());
      const { body } = await other.call("POST", "/agent/environments", {
        body: { name: "lost", setup_commands: ["echo running; sleep 3; echo made > made"] },
      });
      const create = () =>
        other.create(["RUN: cat made"], { config: { environment_id: body.environment_id } });
      const first = await create();
      await vi.waitUntil(
        async () => (await other.db`select 1 from build_events where type = 'output'`).length > 0,
        waitOptions,
      );
      await other.db`update builds set state = 'QUEUED', token = null, lease_expires_at = null`;
      for (const run of [await create(), first]) {
        await other.until(run, "SUCCEEDED");
        expect(outputOf(await other.events(run))).toBe("made\n");
      }
    } finally {
      await other.stop();
    }
  });
});

describe("a follow-up on another machine", () => {
  let elsewhere: TestInstallation;
  afterEach(() => elsewhere?.stop());

  test("restores the run's files on the same build, which it fetches first", async () => {
    elsewhere = await startTestInstallation();
    const first = await elsewhere.worker(settings());
    const made = await elsewhere.call("POST", "/agent/environments", {
      body: { name: "far", repos: [{ url: url(site) }], setup_commands: ["date +%N > built; echo x > gone"] },
    });
    const run = await elsewhere.create(["RUN: rm gone; echo mine >> src/page.txt; cat built"], {
      config: { environment_id: made.body.environment_id },
    });
    await elsewhere.until(run, "SUCCEEDED");
    await first.drain();
    await elsewhere.worker(settings());
    await elsewhere.followUp(run, ["RUN: cat built; ls; tail -1 src/page.txt"]);
    await elsewhere.until(run, "SUCCEEDED");
    const [before, after] = outputOf(await elsewhere.events(run)).split(/(?<=^\d+\n)/);
    expect(after).toBe(`${before}README.md\nbuilt\nold.txt\nsrc\nmine\n`);
  });
});

describe("resources", () => {
  test("of an environment are in the receipt, are enforced, and are explained when reached", async () => {
    const environment_id = await environment({ resources: { pids: 40, memory_mb: 128 } });
    const run = await start(environment_id, [
      "RUN: for i in $(seq 100); do sleep 5 & done 2> /dev/null; echo",
      "RUN: head -c 400M /dev/zero | tail > /dev/null",
    ]);
    await installation.until(run, "SUCCEEDED");
    const output = outputOf(await installation.events(run));
    expect(output).toContain("outrider: the sandbox reached its limit of 40 processes.");
    expect(output).toContain(
      "outrider: a process was killed because the sandbox reached its memory limit of 128 MB.",
    );
    const { receipt } = await installation.get(run);
    expect(receipt.resources).toMatchObject({
      pids: { enforced: true, limit: 40 },
      memory: { enforced: true, limit: 128 },
    });
  });

  test("evict the least recently used builds when the cache is full", async () => {
    const small = await startTestInstallation();
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
      await vi.waitFor(() => expect(small.bases()).toHaveLength(1), waitOptions);
      // An evicted build is fetched from the server, not built again.
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
