import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { EdgeVM } from "@edge-runtime/vm";
import { chromium } from "playwright-core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../../../e2e/find-browser.ts";
import { startWorld, type World } from "../../worker/test/world.ts";
import { pack } from "../scripts/pack.ts";

const run = promisify(execFile);

let world: World;
let folder: string;
let tarball: string;
let dist: string;

/** What each consumer does with `Outrider`, and what it then says. */
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
  world = await startWorld();
  await world.worker();
});
afterAll(async () => {
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const options = (origin = world.origin) => ({ apiKey: world.key, baseURL: `${origin}/api/v1` });

/** Runs a file beside the installed package, without the checkout in reach. */
async function execute(command: string, args: string[], file: string, text: string): Promise<string> {
  writeFileSync(join(folder, file), text);
  const { apiKey, baseURL } = options();
  const env = { PATH: process.env.PATH, HOME: folder, OUTRIDER_API_KEY: apiKey, OUTRIDER_BASE_URL: baseURL };
  return (await run(command, [...args, file], { cwd: folder, env, timeout: 60_000 })).stdout.trim();
}

describe("the packed package", () => {
  test("has at most 30 kB", () => {
    expect(statSync(tarball).size).toBeLessThanOrEqual(30_000);
  });

  test("has nothing that publint complains of", async () => {
    const bytes = readFileSync(tarball);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball: data }, level: "suggestion", strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("gives every resolution the types that fit", async () => {
    const result = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    expect(result.types && "problems" in result && result.problems).toEqual([]);
  });

  test("depends on nothing", () => {
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

  test("under Deno, where it may reach the network and read two variables", { timeout: 60_000 }, async () => {
    const text = `import { Outrider } from "@outrider/sdk";\nconsole.log(await (${program})(Outrider));`;
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ dependencies: { "@outrider/sdk": "0.1.0" } }),
    );
    const args = ["run", "--no-prompt", "--no-remote", "--node-modules-dir=manual", "--allow-net=127.0.0.1"];
    const env = "--allow-env=OUTRIDER_API_KEY,OUTRIDER_BASE_URL";
    expect(await execute("deno", [...args, env], "consumer.deno.mjs", text)).toBe(said);
  });

  test("for a consumer with strict types, in both forms", { timeout: 60_000 }, async () => {
    const text = [
      `import { type ErrorCode, NotFoundError, Outrider, type RunItem, type RunState } from "@outrider/sdk";`,
      `export async function use(client: Outrider): Promise<RunState> {`,
      `  const run: RunItem = await client.runs.get("id");`,
      `  for await (const event of client.runs.stream(run.run_id))`,
      `    if (event.type === "command.finished") { const code: number | undefined = event.data.exit_code; void code; }`,
      `  try { await client.runs.create({ prompt: "x", config: { name: "n" } }); }`,
      `  catch (error) { if (error instanceof NotFoundError) { const code: ErrorCode | undefined = error.code; void code; } }`,
      `  // @ts-expect-error a misspelt member`,
      `  void client.runs.create({ promt: "x" });`,
      `  return run.state;`,
      `}`,
    ].join("\n");
    for (const file of ["typed.mts", "typed.cts"]) writeFileSync(join(folder, file), text);
    const flags = "--noEmit --strict --module nodenext --target es2022 --lib es2022,dom,dom.asynciterable";
    const compiling = run("tsc", [...flags.split(" "), "typed.mts", "typed.cts"], { cwd: folder });
    await expect(compiling).resolves.toMatchObject({ stdout: "" });
  });

  test("in a runtime without Node's globals", async () => {
    const vm = new EdgeVM();
    expect(vm.evaluate("typeof process + typeof Buffer + typeof require")).toBe(
      "undefinedundefinedundefined",
    );
    vm.context.given = options();
    const module = readFileSync(join(dist, "index.js"), "utf8");
    const call = `(async () => { const exports = {}; ${module}; return (${program})(exports.Outrider, given); })()`;
    expect(await vm.evaluate(call)).toBe(said);
  });

  test("in Chromium", { timeout: 60_000 }, async () => {
    const site = await serve();
    const { port } = site.address() as AddressInfo;
    const browser = await chromium.launch({ executablePath: findBrowser(), args: ["--no-sandbox"] });
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.waitForFunction("document.title !== ''", undefined, { timeout: 30_000 });
      expect(await page.title()).toBe(said);
    } finally {
      await browser.close();
      site.closeAllConnections();
      site.close();
    }
  });
});

/** A page with the package, and the API under the same origin, as behind a proxy. */
async function serve(): Promise<Server> {
  const site = createServer(async (request, response) => {
    const path = request.url ?? "";
    if (path === "/sdk.mjs") {
      response.setHeader("content-type", "text/javascript").end(readFileSync(join(dist, "esm/index.js")));
    } else if (path.startsWith("/api/")) {
      const body = Buffer.concat(await request.toArray());
      const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
      const init = { method: request.method ?? "GET", headers, ...(body.length > 0 ? { body } : {}) };
      const answer = await fetch(world.origin + path, init);
      const { "content-length": ___, "content-encoding": ____, ...kept } = Object.fromEntries(answer.headers);
      response.writeHead(answer.status, kept).end(Buffer.from(await answer.arrayBuffer()));
    } else {
      const given = `{ apiKey: ${JSON.stringify(world.key)}, baseURL: location.origin + "/api/v1" }`;
      const script = `import { Outrider } from "/sdk.mjs"; document.title = await (${program})(Outrider, ${given}).catch(String);`;
      response.setHeader("content-type", "text/html").end(`<script type="module">${script}</script>`);
    }
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  return site;
}
