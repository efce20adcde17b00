import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Worker } from "../../src/worker.ts";
import type { WorkerOptions } from "../../src/worker-runtime.ts";
import { startRegistry } from "../images/registry-server.ts";
import { startTestInstallation } from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

export type DockerfileInstallation = Awaited<ReturnType<typeof startDockerfileInstallation>>;

/** The real service with a registry and repositories, for environments from a Dockerfile. */
export async function startDockerfileInstallation() {
  const temporary = makeFolder();
  const registry = await startRegistry();
  const installation = await startTestInstallation();

  function makeOrigin(files: Record<string, string>): Origin {
    const origin = new Origin(temporary.folder, `site-${randomUUID().slice(0, 8)}`);
    origin.push("main", files);
    return origin;
  }

  /** Creates an environment for the Dockerfile in a new repository. */
  async function environment(files: Record<string, string>, body: object = {}): Promise<string> {
    const { bare } = makeOrigin(files);
    const reply = await installation.call("POST", "/agent/environments", {
      body: {
        name: `env ${randomUUID().slice(0, 8)}`,
        dockerfile: { path: "Dockerfile" },
        repos: [{ url: `file://${bare}`, path: "site" }],
        ...body,
      },
    });
    expect(reply).toMatchObject({ status: 201 });
    return reply.body.environment_id;
  }

  return {
    ...installation,
    registry,
    makeOrigin,
    environment,

    async startWorker(options: Partial<WorkerOptions>): Promise<Worker> {
      const allowed = { repositoryPaths: [temporary.folder], allowedAddresses: "127.0.0.1" };
      return await installation.worker({ ...allowed, ...options });
    },

    /** Returns the message of a run whose build fails. */
    async failureOf(dockerfile: string, body: object = {}, files: Record<string, string> = {}) {
      const environment_id = await environment({ Dockerfile: dockerfile, ...files }, body);
      const id = await installation.create(["RUN: true"], { config: { environment_id } });
      const { status_message } = await installation.until(id, "FAILED");
      expect(status_message.error_code).toBe("environment_setup_failed");
      return status_message.message as string;
    },

    async logOf(environment_id: string, build_id: string): Promise<string> {
      const path = `/agent/environments/${environment_id}/builds/${build_id}/events`;
      return (await installation.call("GET", path)).text;
    },

    async stop(): Promise<void> {
      await installation.stop();
      await registry.close();
      temporary.remove();
    },
  };
}
