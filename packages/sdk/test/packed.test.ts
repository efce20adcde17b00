import { execFile } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { EdgeVM } from "@edge-runtime/vm";
import { chromium } from "playwright-core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../../../e2e/find-browser.ts";
import { root } from "../../../e2e/process.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { startTestInstallation, type TestInstallation } from "../../worker/test/installation.ts";
import { pack } from "../scripts/pack.ts";

const run = promisify(execFile);

let installation: TestInstallation;
let folder: string;
let tarball: string;
let dist: string;
/** Two sites that serve a page with the package. Only pages of the first may call the API. */
let listed: Server;
let unlisted: Server;

/** Code that each consumer runs with `Outrider`, and its expected output. */
const program = `async (Outrider, options) => {
  const client = new Outrider(options);
  const run = await client.runs.createAndWait({ prompt: "SAY: hello" });
  const types = [];
  for await (const event of client.runs.stream(run.run_id)) types.push(event.type);
  const missing = await client.runs.get("00000000-0000-7000-8000-000000000000").catch((error) => error);
  return [run.state, types.at(-1), missing.name, missing.code].join(" ");
}`;
const said = "SUCCEEDED run.succeeded NotFoundError resource_not_found";

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-packed-")));
  tarball = await pack(folder);
  const target = join(folder, "node_modules/@outrider/sdk");
  mkdirSync(target, { recursive: true });
  await run("tar", ["xzf", tarball, "-C", target, "--strip-components=1"]);
  dist = join(target, "dist");
  [listed, unlisted] = [await serve(), await serve()];
  installation = await startTestInstallation({ OUTRIDER_CORS_ORIGINS: originOf(listed) });
  await installation.worker();
});
afterAll(async () => {
  for (const site of [listed, unlisted]) {
    site?.closeAllConnections();
    site?.close();
  }
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const options = (origin = installation.origin) => ({ apiKey: installation.key, baseURL: `${origin}/api/v1` });

/** Runs a file next to the installed package, outside of the checkout. */
async function execute(command: string, args: string[], file: string, text: string): Promise<string> {
  writeFileSync(join(folder, file), text);
  const { apiKey, baseURL } = options();
  const env = { PATH: process.env.PATH, HOME: folder, OUTRIDER_API_KEY: apiKey, OUTRIDER_BASE_URL: baseURL };
  return (
    await run(command, [...args, file], { cwd: folder, env, timeout: waitOptions.timeout })
  ).stdout.trim();
}

test("`make sdk` packs it on a machine that has only Node 20 and npm", async () => {
  const node = join(folder, "node20");
  mkdirSync(node);
  // A stand-in for a Node that cannot run TypeScript. The setup of this checkout provides the one that can.
  writeFileSync(join(node, "node"), '#!/bin/sh\n[ "$1" = --version ] && echo v20.0.0 && exit\nexit 1\n');
  chmodSync(join(node, "node"), 0o755);
  const env = { PATH: `${node}:/usr/bin:/bin`, HOME: folder };
  const target = join(folder, "made");
  const { stdout } = await run("make", ["sdk", `ARGS=${target}`], { cwd: root, env });
  expect(stdout.trim()).toBe(join(target, basename(tarball)));
  expect(statSync(stdout.trim()).size).toBe(statSync(tarball).size);
});

describe("the packed package", () => {
  test("is at most 46 kB large", () => {
    expect(statSync(tarball).size).toBeLessThanOrEqual(46_000);
  });

  test("passes publint", async () => {
    const bytes = readFileSync(tarball);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball: data }, level: "suggestion", strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("has matching types for every module resolution", async () => {
    const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    expect(result.types && "problems" in result && result.problems).toEqual([]);
  });

  test("has no dependencies", () => {
    const manifest = JSON.parse(readFileSync(join(dist, "../package.json"), "utf8"));
    expect(manifest.dependencies).toBeUndefined();
    expect(readFileSync(join(dist, "index.js"), "utf8")).not.toMatch(/require\(/);
    expect(readFileSync(join(dist, "esm/index.js"), "utf8")).not.toMatch(/import[ ({]/);
  });
});

describe("the packed package works", () => {
  test("from an ES module", async () => {
    const text = `import { Outrider } from "@outrider/sdk";\nconsole.log(await (${program})(Outrider));`;
    expect(await execute("node", [], "consumer.mjs", text)).toBe(said);
  });

  test("from CommonJS", async () => {
    const text = `const { Outrider } = require("@outrider/sdk");\n(${program})(Outrider).then(console.log);`;
    expect(await execute("node", [], "consumer.cjs", text)).toBe(said);
  });

  test("under Deno with network access and two variables", async () => {
    const text = `import { Outrider } from "@outrider/sdk";\nconsole.log(await (${program})(Outrider));`;
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ dependencies: { "@outrider/sdk": "0.1.0" } }),
    );
    const args = ["run", "--no-prompt", "--no-remote", "--node-modules-dir=manual", "--allow-net=127.0.0.1"];
    const env = "--allow-env=OUTRIDER_API_KEY,OUTRIDER_BASE_URL";
    expect(await execute("deno", [...args, env], "consumer.deno.mjs", text)).toBe(said);
  });

  test("with strict types, as ES module and CommonJS", async () => {
    const text = [
      `import { type ErrorCode, NotFoundError, Outrider, type RunItem, type RunState } from "@outrider/sdk";`,
      `export async function use(client: Outrider): Promise<RunState> {`,
      `  const run: RunItem = await client.runs.get("id");`,
      `  for await (const event of client.runs.stream(run.run_id))`,
      `    if (event.type === "command.finished") { const code: number | undefined = event.data.exit_code; void code; }`,
      `  try { await client.runs.create({ prompt: "x", config: { name: "n" } }); }`,
      `  catch (error) { if (error instanceof NotFoundError) { const code: ErrorCode | undefined = error.code; void code; } }`,
      `  void client.runs.create({ config: { skill_spec: "owner/repo:skill" } });`,
      `  // @ts-expect-error neither a prompt nor a skill`,
      `  void client.runs.create({ config: { name: "n" } });`,
      `  // @ts-expect-error a misspelled field`,
      `  void client.runs.create({ promt: "x" });`,
      `  return run.state;`,
      `}`,
    ].join("\n");
    for (const file of ["typed.mts", "typed.cts"]) writeFileSync(join(folder, file), text);
    const flags = "--noEmit --strict --module nodenext --target es2022 --lib es2022,dom,dom.asynciterable";
    const compiling = run("tsc", [...flags.split(" "), "typed.mts", "typed.cts"], { cwd: folder });
    await expect(compiling).resolves.toMatchObject({ stdout: "" });
  });

  test("in a runtime without Node globals", async () => {
    const vm = new EdgeVM();
    expect(vm.evaluate("typeof process + typeof Buffer + typeof require")).toBe(
      "undefinedundefinedundefined",
    );
    vm.context.given = options();
    const module = readFileSync(join(dist, "index.js"), "utf8");
    const call = `(async () => { const exports = {}; ${module}; return (${program})(exports.Outrider, given); })()`;
    expect(await vm.evaluate(call)).toBe(said);
  });

  test("in Chromium, on the server's own origin and on a listed one", { timeout: 400_000 }, async () => {
    const browser = await chromium.launch({ executablePath: findBrowser(), args: ["--no-sandbox"] });
    const titleOf = async (site: Server, path: string) => {
      const page = await browser.newPage();
      await page.goto(originOf(site) + path);
      await page.waitForFunction("document.title !== ''", undefined, { timeout: waitOptions.timeout });
      return page.title();
    };
    try {
      expect(await titleOf(unlisted, "/same-origin")).toBe(said);
      expect(await titleOf(listed, "/cross-origin")).toBe(said);
      expect(await titleOf(unlisted, "/cross-origin")).toMatch(/^APIConnectionError: /);
      expect(await titleOf(listed, "/headers")).toMatch(
        /^"requests";r=\d+;t=\d+ \/api\/v1\/agent\/runs\/\S+ true W\/"/,
      );
    } finally {
      await browser.close();
    }
  });
});

function originOf(site: Server): string {
  return `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
}

/** Code of a page that reads headers which browsers hide unless the server exposes them. */
const readHeaders = `async (Outrider, options) => {
  const client = new Outrider({ ...options, maxRetries: 0 });
  const create = () => client.runs.create({ prompt: "SAY: hello" }, { idempotencyKey: "once" }).withResponse();
  await create();
  const { response, data } = await create();
  const { response: got } = await client.runs.get(data.run_id).withResponse();
  const header = (name) => response.headers.get(name);
  return [header("ratelimit").split(", ")[0], header("location"), header("idempotent-replayed"), got.headers.get("etag")].join(" ");
}`;

/** Serves pages with the package, and the API on the same origin. */
async function serve(): Promise<Server> {
  const site = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (path === "/sdk.mjs") {
      response.setHeader("content-type", "text/javascript").end(readFileSync(join(dist, "esm/index.js")));
    } else if (path.startsWith("/api/")) {
      const body = Buffer.concat(await request.toArray());
      const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
      const init = { method: request.method ?? "GET", headers, ...(body.length > 0 ? { body } : {}) };
      const answer = await fetch(installation.origin + path, init);
      const { "content-length": ___, "content-encoding": ____, ...kept } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, kept).end(Buffer.from(await answer.arrayBuffer()));
    } else {
      const api = path === "/same-origin" ? "location.origin" : JSON.stringify(installation.origin);
      const given = `{ apiKey: ${JSON.stringify(installation.key)}, baseURL: ${api} + "/api/v1" }`;
      const code = path === "/headers" ? readHeaders : program;
      const script = `import { Outrider } from "/sdk.mjs"; document.title = await (${code})(Outrider, ${given}).catch(String);`;
      response.setHeader("content-type", "text/html").end(`<script type="module">${script}</script>`);
    }
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  return site;
}
