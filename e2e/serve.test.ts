import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  call,
  type End,
  expectNothingOn,
  keyOf,
  makeDataDir,
  outrider,
  postmasterOf,
  type Running,
  removeDataDir,
  root,
  type ServeOptions,
  type Serving,
  serve,
  startServing,
} from "./process.ts";

/** Tests `bin/outrider` from the outside. The tests share one installation and run in order. */

const cleanExit: End = { code: 0, signal: null };
/** Part of every value that must never be logged. */
const marker = `marked${randomBytes(6).toString("hex")}`;
const rawKey = /or[paw]_[0-9A-Za-z]{20,}/;

const folders: string[] = [];
const servers: Running[] = [];

function newDataDir(): string {
  const folder = makeDataDir();
  folders.push(folder);
  return folder;
}

async function startServer(options: ServeOptions): Promise<Serving> {
  const serving = await serve(options);
  servers.push(serving);
  return serving;
}

/** Starts a server that is expected to fail, and returns its output. */
async function failToStart(options: ServeOptions): Promise<{ code: number | null; stderr: string }> {
  const running = startServing(options);
  servers.push(running);
  const { code } = await running.ended;
  return { code, stderr: running.stderr() };
}

let home: string;
let server: Serving;
let key: string;

const api = (path: string) => `${server.origin}/api/v1${path}`;
const create = async (prompt: string) =>
  (await call("POST", api("/agent/run"), { key, body: { prompt } })).body.run_id as string;
const promptOf = async (run: string) => (await call("GET", api(`/agent/runs/${run}`), { key })).body?.prompt;

beforeAll(async () => {
  home = newDataDir();
  server = await startServer({ dataDir: home });
  key = keyOf(home);
});

afterAll(() => {
  for (const folder of folders) removeDataDir(folder);
});

describe("a first start", () => {
  test("prints its address, the path of the first key, and the number of workers", () => {
    const lines = server.stderr().trimEnd().split("\n");
    expect(lines[0]).toMatch(/^Outrider is listening on http:\/\/127\.0\.0\.1:\d+$/);
    expect(lines).toContain(`  key        ${home}/key (first key, just created)`);
    expect(lines.at(-1)).toBe("  workers    1 on this machine");
  });

  test("prints a single-use sign-in link for the first admin", async () => {
    const link = /^ {2}sign in {4}(\S+)$/m.exec(server.stderr())?.[1] as string;
    const [page, token] = link.split("#token=");
    expect(page).toBe(`${server.origin}/login`);
    const open = () => call("POST", api("/auth/link"), { body: { token } });
    expect((await open()).body).toMatchObject({ email: "admin@localhost", role: "admin" });
    expect((await open()).status).toBe(401);
  });

  test("stores the first key only in a file that its owner can read", async () => {
    const file = join(home, "key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).toMatch(/^orp_[0-9A-Za-z]{49}\n$/);
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const filesWithKey = files
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => readFileSync(path).includes(key));
    expect(filesWithKey).toEqual([file]);
    const { body } = await call("GET", api("/me"), { key });
    expect(body).toMatchObject({ role: "admin", email: "admin@localhost" });
  });

  test("runs the database under an account of its own, which doctor names", async () => {
    const { stdout } = await outrider(["doctor", "--json", "--for", "server"], { OUTRIDER_DATA_DIR: home });
    const { findings } = JSON.parse(stdout) as {
      findings: { name: string; state: string; message: string }[];
    };
    const { uid } = statSync(`/proc/${postmasterOf(home)}`);
    const found = findings.find(({ name }) => name === "account");
    expect(found).toMatchObject({ state: "ok", message: expect.stringContaining(`uid ${uid}`) });
    if (process.getuid?.() === 0) {
      expect(found?.message).toBe(`PostgreSQL runs as outrider-postgres (uid ${uid})`);
      expect([0, 65_534]).not.toContain(uid);
    }
  });

  test("serves health checks without authentication", async () => {
    expect((await call("GET", `${server.origin}/healthz`)).body).toEqual({ status: "ok" });
    expect((await call("GET", `${server.origin}/readyz`)).body).toEqual({ status: "ready" });
  });

  test("serves metrics only to admins", async () => {
    const url = `${server.origin}/metrics`;
    const anonymous = await call("GET", url);
    expect([anonymous.status, anonymous.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const { status, text: metrics } = await call("GET", url, { key });
    expect(status).toBe(200);
    expect(metrics).toMatch(/^outrider_runs\{state="QUEUED"\} 0$/m);
  });

  test("counts the warnings in its log", async () => {
    const warnings = async () => {
      const { text: metrics } = await call("GET", `${server.origin}/metrics`, { key });
      return Number(/^outrider_log_lines_total\{level="warn"\} (\d+)$/m.exec(metrics)?.[1]);
    };
    const before = await warnings();
    await call("PUT", api("/installation/maintenance"), { key, body: { message: "a warning" } });
    expect(await warnings()).toBe(before + 1);
  });

  test("serves the openapi.json of this repository", async () => {
    const { text: served } = await call("GET", api("/openapi.json"));
    expect(JSON.parse(served)).toEqual(JSON.parse(readFileSync(join(root, "openapi.json"), "utf8")));
  });
});

describe("users", () => {
  const admin = (...args: string[]) => outrider(["admin", ...args], { OUTRIDER_DATA_DIR: home });

  test("are added, listed and given keys while the server runs", async () => {
    const added = await admin("add-user", "dev@example.com", "--name", "Dev");
    expect(added).toEqual({ code: 0, stdout: expect.stringMatching(/^orp_[0-9A-Za-z]{49}\n$/), stderr: "" });
    expect((await admin("list-users")).stdout).toBe(
      "admin@localhost\tAdmin\tadmin\ndev@example.com\tDev\tmember\n",
    );
    const { users } = JSON.parse((await admin("list-users", "--json")).stdout);
    expect(users).toMatchObject([{ email: "admin@localhost", role: "admin" }, { email: "dev@example.com" }]);
    const another = await admin("create-key", "dev@example.com");
    expect(another.stdout).not.toBe(added.stdout);
    for (const { stdout } of [added, another]) {
      const { body } = await call("GET", api("/me"), { key: stdout.trim() });
      expect(body).toMatchObject({ email: "dev@example.com", display_name: "Dev", role: "member" });
    }
    const metrics = await call("GET", `${server.origin}/metrics`, { key: added.stdout.trim() });
    expect(metrics.status, "a member is not an admin").toBe(403);
  });

  test("get one-time sign-in links at the server's address", async () => {
    const { stdout } = await admin("sign-in-link", "dev@example.com");
    const [page, token] = stdout.trim().split("#token=");
    expect(page).toBe(`${server.origin}/login`);
    const { body } = await call("POST", api("/auth/link"), { body: { token } });
    expect(body).toMatchObject({ email: "dev@example.com", session: { signed_in_by: "link" } });
    const { link } = JSON.parse((await admin("sign-in-link", "dev@example.com", "--json")).stdout);
    expect(link).not.toBe(stdout.trim());
  });

  test("are rejected with an explanation if invalid or unknown", async () => {
    const results = await Promise.all([
      admin("add-user", "admin@localhost", "--name", "Twin"),
      admin("add-user", "nobody", "--name", "Nobody"),
      admin("create-key", "nobody@example.com"),
      admin("sign-in-link", "nobody@example.com"),
      outrider(["admin", "list-users"], { OUTRIDER_DATA_DIR: newDataDir() }),
    ]);
    expect(results.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
      [1, "", "outrider: The email address admin@localhost is already in use.\n"],
      [1, "", "outrider: nobody is not a valid email address.\n"],
      [1, "", "outrider: No user has the email address nobody@example.com.\n"],
      [1, "", "outrider: No user has the email address nobody@example.com.\n"],
      [
        1,
        "",
        expect.stringMatching(
          /^outrider: No server is running with the data directory \S+\. Start it first, or set [^\n]+\n$/,
        ),
      ],
    ]);
  });
});

describe("requests of every kind", () => {
  test("with marked contents are answered, so that a later test can search the logs for them", async () => {
    const created = await call("POST", api("/keys"), {
      key,
      body: { name: "short-lived", type: "personal" },
    });
    const revoked = created.body.key as string;
    await call("DELETE", api(`/keys/${created.body.key_id}`), { key });
    const run = await create(`${marker} prompt`);
    const secret = { value: `${marker} secret` };
    const prompt = `${marker} prompt`;
    const mcp = { command: "x", env: { TOKEN: `${marker} literal` } };
    const once = { "idempotency-key": `${marker}-key` };
    const answers = [
      await call("PUT", api("/agent/secrets/TOKEN"), { key, body: secret }),
      await call("PUT", api("/agent/secrets/no-name"), { key, body: secret }),
      await call("PUT", api("/agent/secrets/TOKEN"), { key, body: { ...secret, [`${marker}_member`]: 1 } }),
      await call("POST", api("/agent/run"), { key, body: { prompt, config: { mcp_servers: { one: mcp } } } }),
      await call("POST", api("/agent/run"), { key, body: { prompt, config: { model_id: prompt } } }),
      await call("POST", api("/agent/run"), { key, body: `{"prompt": "${prompt}` }),
      await call("POST", api("/agent/run"), { key, body: JSON.stringify(prompt.repeat(100_000)) }),
      await call("POST", api("/agent/run"), { key, body: { prompt }, headers: once }),
      await call("POST", api("/agent/run"), { key, body: { prompt: `${prompt} 2` }, headers: once }),
      await call("POST", api("/agent/run"), { key, body: prompt, headers: { "content-type": "text/plain" } }),
      await call("POST", api(`/agent/runs/${run}/followups`), { key, body: { message: prompt } }),
      await call("GET", api(`/agent/runs?q=${marker}&${marker}=1`), { key }),
      await call("GET", api(`/agent/runs/${marker}`), { key }),
      await call("GET", `${server.origin}/${marker}`, { key }),
      await call("GET", api("/me"), { key: `orp_${marker}` }),
      await call("GET", api("/me"), { key: revoked }),
      await call("POST", api("/auth/sign-in"), { body: { email: `${marker}@x.test`, password: marker } }),
      await call("POST", api("/auth/link"), { body: { token: `orl_${marker}` } }),
      await call("GET", api("/me"), { headers: { cookie: `outrider_session=orc_${marker}` } }),
      await call("POST", api("/users"), { key, body: { email: marker, display_name: marker } }),
    ];
    // Some succeed and most fail, but none with a server error. Other tests check the exact answers.
    const classes = answers.map(({ status }) => Math.floor(status / 100));
    expect(classes).toEqual([2, 4, 4, 2, 4, 4, 4, 2, 4, 4, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
  });

  test("that are not HTTP get a 400 answer", async () => {
    const socket = connect(Number(new URL(server.origin).port), "127.0.0.1");
    socket.write(`${marker} ${key}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*"error_code":"invalid_request"/);
  });
});

describe("another server", () => {
  test("cannot start on the same data folder, and the first keeps running", async () => {
    const { code, stderr } = await failToStart({ dataDir: home });
    expect([code, stderr]).toEqual([
      1,
      `outrider: Another Outrider server (pid ${server.pid}) already uses ${home}. ` +
        "Stop it, choose another OUTRIDER_DATA_DIR, or set DATABASE_URL.\n",
    ]);
    expect((await call("GET", `${server.origin}/readyz`)).status).toBe(200);
  });
});

/** Sends half of a POST body. `finish` sends the rest and returns the answer. */
async function sendHalf(prompt: string) {
  const body = JSON.stringify({ prompt });
  const sending = request(api("/agent/run"), {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      // The server answers this when it starts to handle the request.
      expect: "100-continue",
    },
  });
  sending.flushHeaders();
  await new Promise((resolve, reject) => sending.once("continue", resolve).once("error", reject));
  sending.write(body.slice(0, 10));
  return {
    async finish(): Promise<{ status: number | undefined; run: string }> {
      const answer = new Promise<Parameters<typeof text>[0] & { statusCode?: number }>((resolve, reject) =>
        sending.once("response", resolve).once("error", reject),
      );
      sending.end(body.slice(10));
      const response = await answer;
      return { status: response.statusCode, run: JSON.parse(await text(response)).run_id };
    },
  };
}

async function openStream(run: string) {
  const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
  const response = await fetch(api(`/agent/runs/${run}/events`), { headers });
  const decoder = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  let hasEnded = false;
  const read = (async () => {
    for (let next = await decoder?.read(); next && !next.done; next = await decoder?.read())
      seen += next.value;
    hasEnded = true;
  })();
  await vi.waitUntil(() => seen.includes("run.blocked"), waitOptions);
  return { read, hasEnded: () => hasEnded };
}

describe("stopping a server", () => {
  let blockedRun: string;
  let slowRun: string;

  test("with SIGTERM finishes the request in flight, closes streams, and leaves no process", async () => {
    // The run waits for an answer, so its stream stays open.
    blockedRun = await create("ASK: Shall I stay?");
    const stream = await openStream(blockedRun);
    const slow = await sendHalf("Sent slowly.");
    expect(stream.hasEnded()).toBe(false);
    const ended = server.end("SIGTERM");
    await server.waitForOutput("Stopping: finishing requests");
    await stream.read;
    const { status, run } = await slow.finish();
    slowRun = run;
    expect([status, await ended]).toEqual([200, cleanExit]);
    await expectNothingOn(home);
  });

  test("keeps data and key for the next start", async () => {
    server = await startServer({ dataDir: home });
    expect(keyOf(home)).toBe(key);
    expect(server.stderr()).toContain(`  key        ${home}/key\n`);
    expect([await promptOf(blockedRun), await promptOf(slowRun)]).toEqual([
      "ASK: Shall I stay?",
      "Sent slowly.",
    ]);
  });

  test("with kill -9 does not prevent the next start", async () => {
    const last = await create("Acknowledged last.");
    const orphan = postmasterOf(home);
    await server.end("SIGKILL");
    server = await startServer({ dataDir: home });
    expect(postmasterOf(home)).not.toBe(orphan);
    expect([await promptOf(blockedRun), await promptOf(last)]).toEqual([
      "ASK: Shall I stay?",
      "Acknowledged last.",
    ]);
  });

  test("with SIGINT leaves no process", async () => {
    expect(await server.end("SIGINT")).toEqual(cleanExit);
    await expectNothingOn(home);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "with %s during the start leaves no process",
    async (signal) => {
      const starting = startServing({ dataDir: home });
      servers.push(starting);
      await vi.waitUntil(() => existsSync(join(home, "postgres", "postmaster.pid")), {
        ...waitOptions,
        interval: 1,
      });
      expect(await starting.end(signal)).toEqual(cleanExit);
      expect(starting.stderr()).not.toContain("listens");
      await expectNothingOn(home);
    },
  );
});

describe("a failed start", () => {
  test("reports a port in use and leaves no process", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await vi.waitUntil(() => other.listening, waitOptions);
    const { port } = other.address() as { port: number };
    const { code, stderr } = await failToStart({ dataDir: home, port });
    expect([code, stderr]).toEqual([
      1,
      `outrider: Port ${port} on 127.0.0.1 is already in use. ` +
        "Stop the process that uses it, or choose another port with --port or OUTRIDER_PORT.\n",
    ]);
    other.close();
    await expectNothingOn(home);
  });

  test("names the invalid setting and the remedy", async () => {
    const dataDir = newDataDir();
    const cases: [string[], Record<string, string>, RegExp][] = [
      [["--host", "0.0.0.0"], {}, /OUTRIDER_HOST 0\.0\.0\.0 [^\n]+ in clear text[^\n]+--trust-proxy/],
      [[], { OUTRIDER_HOST: "192.168.0.1" }, /OUTRIDER_HOST 192\.168\.0\.1 [^\n]+ in clear text/],
      [["--port", "http"], {}, /OUTRIDER_PORT must be a port number/],
      [[], { OUTRIDER_PORT: "65536" }, /OUTRIDER_PORT must be a port number, at most 65535/],
      [[], { OUTRIDER_MASTER_KEY: marker }, /OUTRIDER_MASTER_KEY must be 32 bytes in base64/],
      [
        [],
        { DATABASE_URL: `postgres://u:${marker}/@localhost/x` },
        /DATABASE_URL is not a valid URL\. Escape/,
      ],
      [[], { DATABASE_URL: `postgres://u:${marker}@127.0.0.1:1/x` }, /ECONNREFUSED 127\.0\.0\.1:1/],
    ];
    const outcomes = await Promise.all(
      cases.map(([flags, environment]) =>
        outrider(["serve", "--data-dir", dataDir, ...flags], { OUTRIDER_PORT: "0", ...environment }),
      ),
    );
    for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(new RegExp(`^outrider: [^\\n]*${cases[index]?.[2].source}[^\\n]*\\n$`));
      expect(stderr).not.toContain(marker);
    }
    await expectNothingOn(dataDir);
  });
});

describe("on an external PostgreSQL", () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let environment: Record<string, string>;
  let five: Serving[] = [];

  beforeAll(async () => {
    database = await testDatabase();
    environment = {
      DATABASE_URL: database.url,
      OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64"),
      OUTRIDER_WORKERS: "0",
    };
  });

  afterAll(async () => {
    await Promise.all(five.map((running) => running.end("SIGTERM")));
    await database.drop();
  });

  test("five servers that start at once all become ready, and set up the database once", async () => {
    five = await Promise.all(
      Array.from({ length: 5 }, () => startServer({ dataDir: newDataDir(), environment })),
    );
    expect(five.filter((running) => running.stdout().includes('"applied":[')).length).toBe(1);
    const first = five.filter((running) => running.stderr().includes("just created"));
    expect(first.length).toBe(1);
    expect(five.filter(({ dataDir }) => existsSync(join(dataDir, "key")))).toEqual(first);
    expect(five.filter(({ dataDir }) => existsSync(join(dataDir, "postgres")))).toEqual([]);
    expect((await outrider(["admin", "list-users"], environment)).stdout).toBe(
      "admin@localhost\tAdmin\tadmin\n",
    );
  });

  test("changes on one server are visible on the others", async () => {
    const admin = keyOf(five.find(({ dataDir }) => existsSync(join(dataDir, "key")))?.dataDir as string);
    const [one, ...others] = five.map(({ origin }) => `${origin}/api/v1`);
    const created = await call("POST", `${one}/agent/run`, { key: admin, body: { prompt: "Shared." } });
    for (const other of others) {
      const { body } = await call("GET", `${other}/agent/runs/${created.body.run_id}`, { key: admin });
      expect(body.prompt).toBe("Shared.");
    }
    const second = await call("POST", `${one}/keys`, { key: admin, body: { name: "n", type: "personal" } });
    await call("DELETE", `${one}/keys/${second.body.key_id}`, { key: admin });
    for (const other of others) {
      expect((await call("GET", `${other}/me`, { key: second.body.key })).status).toBe(401);
    }
  });

  test("a server with another master key cannot start", async () => {
    const other = { ...environment, OUTRIDER_MASTER_KEY: randomBytes(32).toString("base64") };
    const { code, stderr } = await failToStart({ dataDir: newDataDir(), environment: other });
    expect([code, stderr]).toEqual([
      1,
      "outrider: This database was set up with another master key. Start with the same OUTRIDER_MASTER_KEY, " +
        "or with the data folder that contains its master.key.\n",
    ]);
  });

  test("all servers exit cleanly", async () => {
    expect(await Promise.all(five.map((running) => running.end("SIGTERM")))).toEqual(
      five.map(() => cleanExit),
    );
    for (const { dataDir } of five) await expectNothingOn(dataDir);
  });
});

describe("the logs of all servers", () => {
  test("have one JSON object per line", () => {
    const lines = servers.flatMap((running) => running.stdout().split("\n").filter(Boolean));
    expect(lines.length).toBeGreaterThan(50);
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ time: expect.any(String), msg: expect.any(String) });
  });

  test("contain no key, secret or prompt", () => {
    const output = servers.map((running) => running.stdout() + running.stderr()).join("");
    const database = readFileSync(join(home, "postgres.log"), "utf8");
    expect(output + database).not.toContain(marker);
    expect(output + database).not.toMatch(rawKey);
    expect(output).not.toContain('"msg":"request failed"');
  });
});
