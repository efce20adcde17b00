import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import { expect, onTestFinished } from "vitest";
import { resolveRepositories } from "../../src/builds/build.ts";
import {
  type FetchedRepository,
  fetchRepositoryContents,
  mirrorRequests,
} from "../../src/builds/repository-contents.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { checkoutScript } from "../../src/repositories/checkout.ts";
import type { Repositories } from "../../src/repositories/repository.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { streamDiff } from "../../src/workspace/diff.ts";
import { updateRepository } from "../../src/workspace/open-sandbox.ts";
import { inMs, run } from "../sandboxes/sandbox-support.ts";

/** Fetches and checks out an environment's repositories as builds and runs do. */

const signal = new AbortController().signal;

interface Fixture {
  repositories: Repositories;
  provider: SandboxProvider;
}

export interface Repos {
  repos: AssignedEnvironment["repos"];
  credentials?: Record<string, string>;
}

export interface Checkout {
  fetched: FetchedRepository[];
  sandbox: Sandbox;
  /** Runs a command in the workspace. Returns its output, or its exit code and error output. */
  bash(command: string): Promise<string>;
  diff(): Promise<string>;
  /** Stores the files as a build, and opens a sandbox on it in which moved repositories are updated. */
  continue(): Promise<Checkout>;
}

export async function fetchAll({ repositories }: Fixture, { repos, credentials = {} }: Repos) {
  const environment = { repos, credentials } as AssignedEnvironment;
  const notices: string[] = [];
  const options = { signal, emitNotice: (message: string) => void notices.push(message) };
  const resolved = await resolveRepositories(repositories, environment, options);
  const fetched = await fetchRepositoryContents(repositories, environment, { ...options, resolved });
  return { fetched, notices };
}

export async function checkOut(fixture: Fixture, environment: Repos): Promise<Checkout> {
  const { fetched } = await fetchAll(fixture, environment);
  return await prepare(fixture, environment, { fetched });
}

async function prepare(
  fixture: Fixture,
  environment: Repos,
  { fetched, base }: { fetched: FetchedRepository[]; base?: string },
): Promise<Checkout> {
  const { provider, repositories } = fixture;
  const sandbox = await provider.open({
    ...{ id: randomUUID(), label: {}, deadline: inMs(120_000) },
    ...(base ? { base } : {}),
  });
  onTestFinished(() => sandbox.close().catch(() => {}));
  for (const repository of fetched) {
    if (base) {
      await updateRepository(sandbox, repository, { repositories, redactor: new Redactor([]), signal });
      continue;
    }
    const stdin = repositories.streamMirrors(mirrorRequests(repository), { signal });
    const result = await run(sandbox, checkoutScript(repository), { stdin, withWorkerPrograms: true });
    expect(result).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
  }
  return {
    fetched,
    sandbox,
    async bash(command) {
      const { stdout, stderr, exitCode } = await run(sandbox, `cd /workspace && { ${command}\n}`);
      return exitCode === 0 ? stdout.trimEnd() : `exit ${exitCode}: ${stdout}${stderr}`;
    },
    diff: () => text(streamDiff(sandbox, { repositories: fetched, redactor: new Redactor([]), signal })),
    async continue() {
      const name = `base-${randomUUID()}`;
      await provider.saveBase(sandbox, name);
      onTestFinished(() => provider.removeBase(name));
      const moved = await fetchAll(fixture, environment);
      return await prepare(fixture, environment, { ...moved, base: name });
    },
  };
}
