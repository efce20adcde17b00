import { execFile } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../packages/worker/test/installation.ts";
import { root } from "../process.ts";
import { interpreter } from "./python.ts";

/** Generates clients from openapi.json with common tools, and calls a real server with them. */

const run = promisify(execFile);
const document = join(root, "openapi.json");
const timeout = 600_000;

let installation: TestInstallation;
let folder: string;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-generated-")));
  installation = await startTestInstallation();
  await installation.worker();
});
afterAll(async () => {
  await installation?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("openapi-spec-validator accepts the document", { timeout }, async () => {
  const { stdout } = await run(interpreter, ["-m", "openapi_spec_validator", document]);
  expect(stdout.trim()).toMatch(/: OK$/);
});

test("openapi-python-client generates a complete client that works", { timeout }, async () => {
  // The generator formats its output with the ruff next to the interpreter.
  const PATH = [join(root, ".tools/python/bin"), process.env.PATH].join(delimiter);
  const args = [
    "generate",
    "--path",
    document,
    "--output-path",
    join(folder, "outrider_api"),
    "--meta",
    "none",
  ];
  const { stdout } = await run(interpreter, ["-m", "openapi_python_client", ...args], {
    env: { ...process.env, PATH },
  });
  expect(stdout).not.toMatch(/warning|skip|unsupported|error/i);
  const { stdout: printed } = await run(interpreter, [join(import.meta.dirname, "generated.py")], {
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      PYTHONPATH: folder,
      BASE_URL: `${installation.origin}/api/v1`,
      KEY: installation.key,
    },
  });
  await installation.until(JSON.parse(printed).run_id, "SUCCEEDED");
});

const consumer = `
import { createClient } from "./client/client/index.js";
import { createEnvironment, createRun, getRun, listEvents, listRuns } from "./client/index.js";

export async function use(baseUrl: string, key: string): Promise<string> {
  const client = createClient({ baseUrl, auth: key });
  const body = { prompt: "SAY: hello", title: null, config: { name: "typescript" }, limits: { max_steps: 3, max_cost_usd: null } };
  const headers = { "Idempotency-Key": "generated-typescript", "X-Outrider-Client": "GITHUB_ACTION" };
  const { data: created } = await createRun({ client, body, headers, throwOnError: true });
  const repeated = await createRun({ client, body, headers, throwOnError: true });
  const { data: run } = await getRun({ client, path: { runId: created.run_id }, throwOnError: true });
  const query = { config_name: ["typescript"], state: ["QUEUED" as const, "INPROGRESS" as const, "SUCCEEDED" as const] };
  const { data: page } = await listRuns({ client, query, throwOnError: true });
  const { data: log } = await listEvents({ client, path: { runId: created.run_id }, throwOnError: true });
  const repos = [{ url: "https://example.com/acme/api.git", owner: null }];
  const { data: environment } = await createEnvironment({ client, body: { name: "e", description: null, repos }, throwOnError: true });
  const missing = await getRun({ client, path: { runId: "00000000-0000-7000-8000-000000000000" } });
  return JSON.stringify([
    created.run_id === repeated.data.run_id,
    repeated.response?.headers.get("idempotent-replayed"),
    run.title,
    run.source,
    run.limits,
    page.runs.map(({ run_id }) => run_id === run.run_id),
    typeof log === "string" ? log : log?.events[0]?.type,
    environment.repos[0]?.url,
    missing.error && "error_code" in missing.error && missing.error.error_code,
  ]);
}
`;

test("@hey-api/openapi-ts generates a client that compiles and works", { timeout }, async () => {
  const generator = join(root, "packages/sdk/node_modules/.bin/openapi-ts");
  await run(generator, ["--input", document, "--output", join(folder, "client")], { cwd: folder });
  const file = join(folder, "consumer.ts");
  writeFileSync(file, consumer);
  const flags = "--noEmit --strict --module esnext --moduleResolution bundler --target es2022";
  const libraries = ["--lib", "es2022,dom,dom.iterable", "--types", ""];
  await expect(
    run("tsc", [...flags.split(" "), ...libraries, file], { cwd: folder }).catch(({ stdout }) => stdout),
  ).resolves.toMatchObject({ stdout: "" });
  const bundle = await rolldown({ input: file, logLevel: "silent" });
  const output = join(folder, "consumer.mjs");
  await bundle.write({ file: output });
  await bundle.close();
  const { use } = await import(pathToFileURL(output).href);
  expect(JSON.parse(await use(`${installation.origin}/api/v1`, installation.key))).toEqual([
    true,
    "true",
    "SAY: hello",
    "GITHUB_ACTION",
    { max_steps: 3 },
    [true],
    "run.created",
    "https://example.com/acme/api.git",
    "resource_not_found",
  ]);
});
