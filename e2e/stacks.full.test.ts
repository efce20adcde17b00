import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isFinal } from "@outrider/contract/run-state";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { closeAll } from "../packages/worker/test/egress/egress-support.ts";
import { type RegistryServer, startRegistry } from "../packages/worker/test/images/registry-server.ts";
import { startTestInstallation, type TestInstallation } from "../packages/worker/test/installation.ts";
import { makeFolder, Origin } from "../packages/worker/test/repositories/git-server.ts";
import { startCompany } from "./stacks/company.ts";
import { pushDebian } from "./stacks/debian-image.ts";

/**
 * Real projects in real systems: each test prepares an environment from a Debian image, and the agent runs the project's
 * own tests in it, twice, in two sandboxes. All of it happens in a company's network (see stacks/company.ts).
 */

const BUILD_MS = 15 * 60_000;

let installation: TestInstallation;
let registry: RegistryServer;
let temporary: ReturnType<typeof makeFolder>;
let company: Awaited<ReturnType<typeof startCompany>>;
let worker: Awaited<ReturnType<typeof company.startWorker>>;
/** The images: Debian 12, which is the system of many workers, and its successor. */
let debian: { bookworm: string; trixie: string };

beforeAll(async () => {
  temporary = makeFolder();
  registry = await startRegistry();
  debian = {
    bookworm: await pushDebian(registry, "bookworm"),
    trixie: await pushDebian(registry, "trixie"),
  };
  company = await startCompany(temporary.folder);
  installation = await startTestInstallation();
  worker = await company.startWorker(installation);
}, BUILD_MS);
afterAll(async () => {
  await worker?.end("SIGTERM");
  await company?.stop();
  await closeAll();
  await installation?.stop();
  await registry?.close();
  temporary?.remove();
}, 180_000);

/** Creates an environment for the project in a folder below stacks. */
async function createEnvironment(project: string, body: object, replace: Record<string, string> = {}) {
  const folder = join(import.meta.dirname, "stacks", project);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const contents = files.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    const text = Object.entries(replace).reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      readFileSync(path, "utf8"),
    );
    return [path.slice(folder.length + 1), text];
  });
  new Origin(temporary.folder, project).push("main", Object.fromEntries(contents));
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name: project, repos: [{ url: company.addressOf("git", `/${project}.git`) }], ...body },
  });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.environment_id as string;
}

/** Lets the agent run a command in a run of its own, and returns its output. */
async function run(environment_id: string, command: string): Promise<string> {
  const id = await installation.create([`RUN: ${command}`], {
    config: { environment_id, idle_timeout_minutes: 0 },
  });
  // The first run of an environment waits for its build.
  const item = await vi.waitUntil(
    async () => {
      const now = await installation.get(id);
      return isFinal(now.state) ? now : undefined;
    },
    { timeout: BUILD_MS, interval: 500 },
  );
  const events = await installation.events(id);
  expect(item.state, JSON.stringify(events.slice(-20), null, 1)).toBe("SUCCEEDED");
  expect(item.receipt.environment.image.digest).toMatch(/^sha256:/);
  const ended = events.filter(({ type }) => type === "command.finished").map(({ data }) => data.exit_code);
  const output = events
    .filter(({ type }) => type === "command.output")
    .map(({ data }) => data.text)
    .join("");
  expect(ended.at(-1), output).toBe(0);
  return output;
}

test("a Python project with PostgreSQL from apt-get", { timeout: 2 * BUILD_MS }, async () => {
  const environment = await createEnvironment("postgresql", {
    docker_image: debian.bookworm,
    setup_commands: [
      "apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql python3-psycopg2",
      "service postgresql start && su postgres -c \"psql -qc \\\"CREATE ROLE accounts LOGIN PASSWORD 'accounts'\\\" -c 'CREATE DATABASE accounts OWNER accounts'\" && service postgresql stop",
    ],
    start_commands: ["service postgresql start && until pg_isready -q; do sleep 0.1; done"],
    variables: {
      DATABASE_URL: "postgresql://accounts:accounts@127.0.0.1/accounts",
      RATES_URL: company.addressOf("rates", "/rates"),
    },
    network: { mode: "allowlist", allow: ["preset:debian", company.hostOf("rates")] },
  });
  for (let runs = 0; runs < 2; runs++)
    expect(await run(environment, "python3 -m unittest discover -v tests 2>&1")).toMatch(
      /Ran 3 tests.*\n\nOK\n$/s,
    );
  expect(company.proxy.seen).toContain(`CONNECT ${company.hostOf("git")}`);
  expect(company.proxy.seen).toContain(`CONNECT ${company.hostOf("rates")}`);
  // apt came through the proxy too.
  expect(company.proxy.seen.some((request) => /^GET http:.*postgresql/.test(request))).toBe(true);
});

test("a C++ project that needs a newer compiler than the worker's", { timeout: 2 * BUILD_MS }, async () => {
  const environment = await createEnvironment("cpp", {
    docker_image: debian.trixie,
    setup_commands: ["apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ make"],
    network: { mode: "allowlist", allow: ["preset:debian"] },
  });
  for (let runs = 0; runs < 2; runs++) {
    const output = await run(environment, "make test && . /etc/os-release && echo $VERSION_CODENAME");
    expect(output.match(/^ok /gm)).toHaveLength(3);
    expect(output).toMatch(/\ntrixie\n$/);
  }
});

test("a project with a devcontainer, its Dockerfile and its service", { timeout: 2 * BUILD_MS }, async () => {
  const environment = await createEnvironment(
    "devcontainer",
    {
      devcontainer: ".devcontainer/devcontainer.json",
      network: { mode: "allowlist", allow: ["preset:debian", "preset:pypi"] },
    },
    { BASE_IMAGE: debian.bookworm },
  );
  for (let runs = 0; runs < 2; runs++) {
    const output = await run(environment, "~/venv/bin/python -m unittest discover -v tests 2>&1");
    expect(output).toMatch(/Ran 2 tests.*\n\nOK\n$/s);
  }
});
