/**
 * One Docker for all test files of a run, which starts when the first file asks for it. Files must name their own
 * installations, so that they find only their own objects. A test that stops or restarts the engine starts another one.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { engineProblem, startDocker, type TestEngine } from "./test-engine.ts";

declare module "vitest" {
  interface ProvidedContext {
    dockerRequests: string;
  }
}

let server: Server | undefined;
let folder: string;
let engine: Promise<TestEngine> | undefined;

/** Runs in the main process, before the test files. */
export async function setup(project: TestProject): Promise<void> {
  if (engineProblem) console.log(`skipped: all tests with container engines, because ${engineProblem}`);
  folder = mkdtempSync(join(tmpdir(), "outrider-docker-"));
  const path = join(folder, "requests.sock");
  server = createServer((socket) => {
    engine ??= startDocker();
    engine.then(
      ({ host }) => socket.end(JSON.stringify({ host })),
      (error: Error) => socket.end(JSON.stringify({ error: error.message })),
    );
  }).listen(path);
  await once(server, "listening");
  project.provide("dockerRequests", path);
}

export async function teardown(): Promise<void> {
  server?.close();
  await engine?.then(
    ({ stop }) => stop(),
    () => {},
  );
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the address of the shared Docker, as in DOCKER_HOST. */
export async function sharedDocker(): Promise<string> {
  const answer = JSON.parse(await text(connect(inject("dockerRequests"))));
  if (answer.error) throw new Error(answer.error);
  return answer.host;
}
