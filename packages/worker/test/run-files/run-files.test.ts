import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { runFileLimits } from "@outrider/contract/run-file";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** Files of runs, end to end: a server, workers and sandboxes. */

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let site: Origin;

beforeAll(async () => {
  temporary = makeFolder();
  site = new Origin(temporary.folder, "site");
  site.push("main", { "README.md": "hello\n", "src/page.txt": "one\n" });
  installation = await startTestInstallation();
  await installation.worker(settings());
});
afterAll(async () => {
  await installation?.stop();
  temporary.remove();
});

const settings = () => ({ repositoryPaths: [temporary.folder] });

async function environment(body: object = {}): Promise<string> {
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name: `env ${randomUUID().slice(0, 8)}`, ...body },
  });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.environment_id;
}

const address = (run: string, path: string, kind = "") =>
  `/agent/runs/${run}/files${kind}?path=${encodeURIComponent(path)}`;
const list = async (run: string, path = "") => await installation.call("GET", address(run, path));
const read = async (run: string, path: string) =>
  await installation.call("GET", address(run, path, "/content"));
const namesOf = ({ body }: { body: { entries: { name: string }[] } }) => body.entries.map(({ name }) => name);

describe("the files of a run", () => {
  test("are those of its sandbox while it works, and while the sandbox is warm", async () => {
    const run = await installation.create([
      "RUN: mkdir -p a; echo one > a/file; touch ready; while [ ! -e go ]; do sleep 0.1; done",
    ]);
    const now = await vi.waitUntil(async () => {
      const listed = await list(run);
      return namesOf(listed).includes("ready") ? listed : undefined;
    }, waitOptions);
    expect(now.body).toMatchObject({
      ...{ path: "", source: "sandbox", is_truncated: false },
      entries: [
        { name: "a", type: "folder" },
        { name: "ready", type: "file", size_bytes: 0 },
      ],
    });
    expect(Date.parse(now.body.read_at)).toBeLessThanOrEqual(Date.now() + 60_000);
    expect((await read(run, "a/file")).text).toBe("one\n");
    expect((await read(run, "./a//file")).text).toBe("one\n");
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    await installation.until(run, "CANCELLED");

    const warm = await installation.create(["RUN: echo warm > file"]);
    await installation.until(warm, "SUCCEEDED");
    const after = await vi.waitUntil(async () => {
      const listed = await list(warm);
      return listed.body.source === "sandbox" ? listed : undefined;
    }, waitOptions);
    expect(namesOf(after)).toEqual(["file"]);
    expect((await read(warm, "file")).text).toBe("warm\n");
  });

  test("are those of its snapshot after it was cancelled", async () => {
    const config = { idle_timeout_minutes: 0 };
    const run = await installation.create(["RUN: echo kept > file; touch ready; sleep 600"], { config });
    await vi.waitUntil(async () => namesOf(await list(run)).includes("ready"), waitOptions);
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    const stored = await vi.waitUntil(async () => {
      const listed = await list(run);
      return listed.body.source === "snapshot" && namesOf(listed).length > 0 ? listed : undefined;
    }, waitOptions);
    expect(namesOf(stored)).toEqual(["file", "ready"]);
    expect((await read(run, "file")).text).toBe("kept\n");
  });

  test("in an environment include those of the build, also on another worker, without secrets", async () => {
    const value = `token-${randomUUID()}`;
    await installation.call("PUT", "/agent/secrets/FILES_TOKEN", { body: { value } });
    const environment_id = await environment({
      repos: [{ url: `file://${site.bare}`, path: "site" }],
      secrets: ["FILES_TOKEN"],
    });
    const { id } = await installation.runIn(environment_id, [
      'RUN: echo "$FILES_TOKEN" > token.txt; rm src/page.txt; echo changed >> README.md',
    ]);
    const second = await installation.worker(settings());
    onTestFinished(() => second.drain());
    // The first worker is asked first only if it has read files of the run before.
    for (const path of ["site", "site/"]) {
      const listed = await list(id, path);
      expect(listed.body).toMatchObject({ path: "site", source: "snapshot" });
      expect(namesOf(listed)).toEqual([".git", "src", "README.md", "token.txt"]);
    }
    expect(namesOf(await list(id, "site/src"))).toEqual([]);
    expect((await read(id, "site/README.md")).text).toBe("hello\nchanged\n");
    expect((await read(id, "site/token.txt")).text).toBe("***\n");

    const unchanged = await installation.runIn(environment_id, ["SAY: nothing"]);
    expect((await read(unchanged.id, "site/README.md")).text).toBe("hello\n");
  });

  test("are empty if it has none", async () => {
    const run = await installation.create(["SAY: hello"]);
    await installation.until(run, "SUCCEEDED");
    expect(await list(run)).toMatchObject({ status: 200, body: { entries: [], is_truncated: false } });
    expect(await list(run, "src")).toMatchObject({ status: 404 });
    expect(await read(run, "file")).toMatchObject({ status: 404 });
  });
});

describe("a request for files", () => {
  test("says what is wrong with the path", async () => {
    const run = await installation.create(["RUN: mkdir a; echo x > file; ln -s /etc out"]);
    await installation.until(run, "SUCCEEDED");
    const detail = async (reply: Promise<{ status: number; body: { detail: string } }>) => {
      const { status, body } = await reply;
      return `${status} ${body.detail}`;
    };
    expect(await detail(list(run, "file"))).toMatch(/^409 `file` is not a folder/);
    expect(await detail(read(run, "a"))).toMatch(/^409 `a` is not a file/);
    expect(await detail(list(run, "out"))).toMatch(/^409 `out` is not a folder/);
    expect(await detail(read(run, "nope"))).toBe("404 `nope` does not exist in the workspace.");
    expect(await detail(read(run, "../etc/passwd"))).toMatch(/^400 .*must not contain `\.\.`/);
    expect((await installation.call("GET", `/agent/runs/${run}/files/content`)).status).toBe(400);
    expect((await list(randomUUID())).status).toBe(404);
  });

  test("is a download that browsers do not render", async () => {
    const run = await installation.create(["RUN: echo '<script>' > 'ä b.html'"]);
    await installation.until(run, "SUCCEEDED");
    const url = `${installation.origin}/api/v1${address(run, "ä b.html", "/content")}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${installation.key}` } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment; filename*=UTF-8''%C3%A4%20b.html",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expect(await response.text()).toBe("<script>\n");
  });

  test("fails if retention has removed the files", async () => {
    const run = await installation.create(["RUN: echo x > file"], { config: { idle_timeout_minutes: 0 } });
    await installation.until(run, "SUCCEEDED");
    await installation.db`
      update runs set snapshot_sha256 = null, files_removed_at = '2026-01-02T00:00:00Z' where run_id = ${run}`;
    const reply = await list(run);
    expect(reply.status).toBe(404);
    expect(reply.body.detail).toBe("The files were deleted by the retention policy on 2026-01-02.");
  });
});

describe("a hostile snapshot", () => {
  const upload = async (archive: Buffer) => {
    const sha256 = createHash("sha256").update(archive).digest("hex");
    const reply = await fetch(`${installation.origin}/api/v1/worker/blobs/${sha256}`, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${installation.workerKey}`,
        "content-type": "application/octet-stream",
      },
      body: new Uint8Array(archive),
    });
    expect(reply.status).toBe(204);
    return sha256;
  };

  test("that contains far more than it seems stops at the limit of the disk", async () => {
    const environment_id = await environment({ resources: { disk_mb: 64 } });
    const { id } = await installation.runIn(environment_id, ["RUN: echo x > file"]);
    // 1 GiB of zeros, compressed to 1 MiB.
    const folder = makeFolder();
    onTestFinished(folder.remove);
    execFileSync("truncate", ["-s", "1G", join(folder.folder, "zeros")]);
    const tar = `tar -C ${folder.folder} -cf - ./zeros | gzip -1`;
    const sha256 = await upload(execFileSync("bash", ["-c", tar], { maxBuffer: 2 ** 26 }));
    await installation.db`update runs set snapshot_sha256 = ${sha256} where run_id = ${id}`;
    const reply = await list(id);
    expect(reply).toMatchObject({ status: 503, body: { error_code: "resource_unavailable" } });
  });

  test("that is damaged is an error, and a later one is read", async () => {
    const { id } = await installation.runIn(await environment(), ["RUN: echo x > file"]);
    const [run] = await installation.db`select snapshot_sha256 from runs where run_id = ${id}`;
    const sha256 = await upload(Buffer.from("not an archive"));
    await installation.db`update runs set snapshot_sha256 = ${sha256} where run_id = ${id}`;
    expect((await list(id)).status).toBe(503);
    await installation.db`
      update runs set snapshot_sha256 = ${run?.snapshot_sha256 ?? null} where run_id = ${id}`;
    expect(namesOf(await list(id))).toEqual(["file"]);
  });
});

describe("without a worker that can read the files", () => {
  test("a request fails after a while, and is limited in number", async () => {
    const other = await startTestInstallation();
    onTestFinished(() => other.stop());
    const { waitMs } = runFileLimits;
    onTestFinished(() => {
      runFileLimits.waitMs = waitMs;
    });
    runFileLimits.waitMs = 1_500;
    const run = await other.create(["RUN: true"]);
    // A worker of an older version executes the run and ignores the request.
    const worker = { worker_id: randomUUID(), name: "old", version: "0", slots: 1 };
    const claimed = await fetch(`${other.origin}/api/v1/worker/claim`, {
      method: "POST",
      headers: { authorization: `Bearer ${other.workerKey}`, "content-type": "application/json" },
      body: JSON.stringify({ request_id: randomUUID(), worker, free: 1, wait_ms: 0 }),
    });
    expect(await claimed.json()).toMatchObject({ executions: [{ run_id: run }] });
    const path = `/agent/runs/${run}/files`;
    const replies = await Promise.all(Array.from({ length: 12 }, () => other.call("GET", path)));
    const statuses = replies.map(({ status }) => status);
    expect(statuses).toContain(429);
    const failed = replies.find(({ status }) => status === 503);
    expect(failed?.body).toMatchObject({ error_code: "resource_unavailable", retryable: true });
    expect(failed?.body.detail).toMatch(/^No worker has read the files\./);
  });

  test("a worker with a full disk opens no snapshot", async () => {
    const other = await startTestInstallation();
    onTestFinished(() => other.stop());
    const first = await other.worker();
    const run = await other.create(["RUN: echo x > file"], { config: { idle_timeout_minutes: 0 } });
    await other.until(run, "SUCCEEDED");
    await first.drain();
    await other.worker({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    const reply = await other.call("GET", `/agent/runs/${run}/files`);
    expect(reply.status).toBe(503);
    expect(reply.body.detail).toMatch(/too little disk space/);
  });
});
