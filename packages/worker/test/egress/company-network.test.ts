import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run as spawnOutrider } from "../../../../e2e/process.ts";
import { startStubModel } from "../../../agent/test/stub-model/server.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";
import { makeFolder, Origin, serveHttp } from "../repositories/git-server.ts";
import { closeAll, closeLater, serve } from "./egress-support.ts";
import { makePrivateCa } from "./private-ca.ts";
import { startUpstream } from "./upstream-support.ts";

/**
 * A worker in a company's network, end to end: all names resolve only at the company's proxy, which demands a credential,
 * and all servers have certificates of the company's own authority.
 */

const password = "pa55-of-the-proxy";
let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let port: number;
let echoPort: number;

beforeAll(async () => {
  temporary = makeFolder();
  const { folder } = temporary;
  const names = ["git", "registry", "web", "models"].map((name) => `${name}.company.test`);
  const { caFile, tls } = makePrivateCa(folder, names);
  const site = new Origin(folder, "site");
  site.push("main", { "README.md": "hello\n" });
  const repositories = await serveHttp(folder);
  closeLater(() => repositories.stop());
  const model = await startStubModel({ apiKey: "sk-of-the-stub-0123456789" });
  closeLater(() => model.close());
  const modelUrl = new URL(model.baseUrl("anthropic"));
  port = await serve(
    createServer(tls, async (request, response) => {
      const path = request.url ?? "";
      if (path === "/hello") return response.end(`hello over TLS for ${request.headers.host}\n`);
      if (/^\/tiny-pkg$|\.tgz$/.test(path)) return response.end(registryAnswer(path, port));
      const isModel = path.startsWith(modelUrl.pathname);
      const inner = await fetch(`${isModel ? modelUrl.origin : `http://${repositories.host}`}${path}`, {
        method: request.method ?? "GET",
        headers: request.headers as Record<string, string>,
        ...(request.method === "POST" ? { body: request, duplex: "half" } : {}),
      } as RequestInit);
      response.writeHead(inner.status, { "content-type": inner.headers.get("content-type") ?? "" });
      response.end(Buffer.from(await inner.arrayBuffer()));
    }),
  );
  echoPort = await serve(createTcpServer((socket) => socket.end("a database\n")));
  upstream = await startUpstream({ login: `acme:${password}` });
  const models = join(folder, "models.json");
  const base_url = `https://models.company.test:${port}${modelUrl.pathname}`;
  const anthropic = { base_url, api_key: "sk-of-the-stub-0123456789", models: { stub: {} } };
  writeFileSync(models, JSON.stringify({ providers: { anthropic } }));
  installation = await startTestInstallation({
    OUTRIDER_GIT_HOST: `https://git.company.test:${port}`,
    OUTRIDER_MODELS: models,
  });
  const home = join(folder, "home");
  mkdirSync(home);
  writeFileSync(join(home, ".npmrc"), `registry=https://registry.company.test:${port}/\n`);
  mkdirSync(join(home, ".cargo"));
  writeFileSync(
    join(home, ".cargo/config.toml"),
    '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "https://crates.company.test/index"\n',
  );
  const worker = spawnOutrider(
    [
      ...["worker", "--server", installation.origin, "--name", "company"],
      ...["--data-dir", join(installation.workersFolder, "company"), "--extra-ca", caFile],
    ],
    {
      OUTRIDER_WORKER_KEY: installation.workerKey,
      OUTRIDER_UPSTREAM_PROXY: upstream.url,
      OUTRIDER_NO_PROXY: "127.0.0.1",
      HOME: home,
    },
  );
  closeLater(() => worker.end("SIGTERM"));
  await worker.waitForOutput("ready for runs");
});

afterAll(async () => {
  await closeAll();
  await installation?.stop();
  temporary.remove();
});

/** Answers for the package tiny-pkg: its document and its archive. */
function registryAnswer(path: string, port: number): string | Buffer {
  if (path.endsWith(".tgz")) return archive("package/package.json", '{"name":"tiny-pkg","version":"1.0.0"}');
  const tarball = `https://registry.company.test:${port}/tiny-pkg/-/tiny-pkg-1.0.0.tgz`;
  const version = { name: "tiny-pkg", version: "1.0.0", dist: { tarball } };
  return JSON.stringify({
    name: "tiny-pkg",
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": version },
  });
}

/** Returns a tar archive with one file. */
function archive(name: string, content: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\x000000000\x000000000\0", 100);
  header.write(`${Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0        0", 136);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512 + 1024);
  body.write(content);
  return gzipSync(Buffer.concat([header, body]));
}

test("git, presets, programs and TCP work behind a private CA and an upstream proxy", async () => {
  const hasNpm = existsSync("/usr/bin/npm");
  const reply = await installation.call("POST", "/agent/environments", {
    body: {
      name: "company",
      repos: [{ url: `https://git.company.test:${port}/site.git` }],
      setup_commands: hasNpm ? ["npm install --no-audit --no-fund --prefix ~/tiny tiny-pkg"] : [],
      network: {
        mode: "allowlist",
        allow: [
          "preset:npm",
          "preset:git",
          "preset:crates",
          `web.company.test:${port}`,
          `db.company.test:${echoPort}`,
        ],
      },
    },
  });
  expect(reply.status).toBe(201);
  const url = `https://web.company.test:${port}/hello`;
  const programs = [
    ["/usr/bin/curl", `curl -sS ${url}`],
    [
      "/usr/bin/python3",
      `/usr/bin/python3 -c "import urllib.request as r; print(r.urlopen('${url}').read().decode(), end='')"`,
    ],
  ].flatMap(([file = "", command = ""]) => (existsSync(file) ? [command] : []));
  const script = [
    `RUN: ${programs.join("; ")}`,
    `RUN: git ls-remote https://git.company.test:${port}/site.git main | cut -f2`,
    `RUN: /etc/outrider-connect db.company.test ${echoPort} < /dev/null`,
    "RUN: cat README.md; ls ~/tiny/node_modules; env; cat /proc/*/environ /etc/outrider/* 2> /dev/null | wc -c",
    "RUN: cat /proc/self/mountinfo; head -1 /.cargo/config.toml",
  ];
  const config = { environment_id: reply.body.environment_id, model_id: "scripted" };
  const run = await installation.create(script, { config });
  const item = await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  const output = events
    .filter(({ type }) => type === "command.output")
    .map(({ data }) => data.text)
    .join("");
  expect(output.match(/hello over TLS for web\.company\.test/g)).toHaveLength(programs.length);
  expect(output).toContain("refs/heads/main\n");
  expect(output).toContain("a database\n");
  expect(output).toContain("hello\n");
  if (hasNpm) expect(output).toContain("tiny-pkg\n");
  expect(output).toContain("[source.crates-io]\n");
  expect(output).toContain(`NPM_CONFIG_REGISTRY=https://registry.company.test:${port}/\n`);

  const registry = `registry.company.test:${port}`;
  const gitHosts = [`git.company.test:${port}`, "git.company.test:22"];
  expect(item.receipt.network.presets).toEqual([
    { preset: "preset:npm", hosts: [registry] },
    { preset: "preset:git", hosts: gitHosts },
    { preset: "preset:crates", hosts: ["crates.company.test:443"] },
  ]);
  const notices = events.filter(({ type }) => type === "notice").map(({ data }) => data.message);
  expect(notices).toContain(
    `preset:npm allows ${registry}. preset:git allows ${gitHosts.join(", ")}. preset:crates allows crates.company.test:443.`,
  );
  expect(upstream.seen).toEqual(
    expect.arrayContaining([
      `CONNECT git.company.test:${port}`,
      `CONNECT web.company.test:${port}`,
      `CONNECT db.company.test:${echoPort}`,
      ...(hasNpm ? [`CONNECT ${registry}`] : []),
    ]),
  );
  const stored = JSON.stringify([item, events]);
  for (const secret of [
    installation.workersFolder,
    password,
    Buffer.from(`acme:${password}`).toString("base64"),
  ])
    expect(stored).not.toContain(secret);
});

test("models are called through the proxy with the private CA", async () => {
  const config = { model_id: "anthropic/stub" };
  const run = await installation.create(["SAY: hello from the model"], { config });
  await installation.until(run, "SUCCEEDED");
  expect(upstream.seen).toContain(`CONNECT models.company.test:${port}`);
});

test("a bad setting stops a worker or server with a sentence that names it", async () => {
  const start = (environment: Record<string, string>, ...args: string[]) =>
    spawnOutrider(["worker", "--server", installation.origin, ...args], {
      OUTRIDER_WORKER_KEY: installation.workerKey,
      ...environment,
    });
  const noFile = start({ OUTRIDER_EXTRA_CA: "/nonexistent/ca.pem" });
  const badUrl = start({ OUTRIDER_UPSTREAM_PROXY: `socks5://u:${password}@proxy.test` });
  const server = spawnOutrider(["serve", "--data-dir", join(temporary.folder, "server")], {
    OUTRIDER_EXTRA_CA: "/nonexistent/ca.pem",
  });
  for (const { ended } of [noFile, badUrl, server]) expect((await ended).code).not.toBe(0);
  for (const { stderr } of [noFile, server])
    expect(stderr()).toContain("OUTRIDER_EXTRA_CA: /nonexistent/ca.pem cannot be read (ENOENT)");
  expect(badUrl.stderr()).toContain("OUTRIDER_UPSTREAM_PROXY must start with http://");
  expect(badUrl.stderr()).not.toContain(password);
});
