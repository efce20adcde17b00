/** Runs of an installation in a cluster, which tests observe and hold at a certain point. */
import { expect, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import type { KubernetesInstallation } from "./installation.ts";

/** A cluster on a busy machine needs a while until a lost pod is replaced. */
export const slow = { timeout: 4 * waitOptions.timeout, interval: 200 };

/** A line of a script that waits until `release` has created the file. */
export const waitFor = (name: string) => `RUN: until [ -e ${name} ]; do sleep 0.1; done; echo saw ${name}`;

export function openRuns({ call, kubectl }: KubernetesInstallation, key: string) {
  const read = async (id: string) => (await call("GET", `/agent/runs/${id}`, { key })).body;
  const expectState = (id: string, state: string) =>
    vi.waitFor(async () => {
      const run = await read(id);
      expect(run, JSON.stringify(run.status_message)).toMatchObject({ state });
      return run;
    }, slow);
  /** The names of the pods that a run has. */
  const podsOf = async (id: string) => {
    const selector = `--selector=app.kubernetes.io/component=sandbox,outrider.dev/run=${id}`;
    return (await kubectl("get", "pods", selector, "--output=name")).split("\n").filter(Boolean);
  };
  /** Executes a command in the sandbox of a run, once it has one. */
  const execute = (id: string, command: string) =>
    vi.waitFor(async () => {
      const [pod = "none"] = await podsOf(id);
      return await kubectl("exec", pod, "--container=scripts", "--", "sh", "-c", command);
    }, slow);
  return {
    ...{ read, expectState, podsOf },
    async start(...script: string[]): Promise<string> {
      const { status, body } = await call("POST", "/agent/run", { key, body: { prompt: script.join("\n") } });
      expect(status, JSON.stringify(body)).toBe(200);
      return body.run_id;
    },
    /** Waits until the run has written the file. */
    reach: (id: string, file: string) => execute(id, `test -e /workspace/${file}`),
    /** Creates a file, also in the sandbox of a later attempt, until the run has ended. Returns the run. */
    async release(id: string, file: string) {
      await vi.waitFor(async () => {
        const [pod] = await podsOf(id);
        if (pod)
          await kubectl("exec", pod, "--container=scripts", "--", "touch", `/workspace/${file}`).catch(
            () => {},
          );
        expect((await read(id)).state).not.toMatch(/QUEUED|INPROGRESS/);
      }, slow);
      return await expectState(id, "SUCCEEDED");
    },
    async transcript(id: string): Promise<string> {
      return JSON.stringify((await call("GET", `/agent/runs/${id}/events`, { key })).body);
    },
  };
}
