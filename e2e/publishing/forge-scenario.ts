import { expect, vi } from "vitest";
import type { TestInstallation } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";

/** The life of a pull request from a run in a sandbox to its merge, with any forge. */

export interface TestedForge {
  /** The body of `POST /agent/forges`, or the ID of a forge that is connected. */
  connection: object | string;
  /** Values that may not be visible in anything that a run stores. */
  secrets(): string[];
  host: string;
  repository: string;
  pulls(): Promise<{ number: number; branch: string; isDraft: boolean; commit: string }[]>;
  merge(number: number): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
}

export async function testPullRequest(installation: TestInstallation, forge: TestedForge): Promise<void> {
  const { call, db } = installation;
  if (typeof forge.connection !== "string")
    expect(await call("POST", "/agent/forges", { body: forge.connection })).toMatchObject({ status: 201 });
  const url = `https://${forge.host}/${forge.repository}.git`;
  const publish = { publish: "draft_pull_request", when: "on_success" };
  const environment = await call("POST", "/agent/environments", {
    body: { name: "api", repos: [{ url, path: "api", publish }] },
  });
  const config = { environment_id: environment.body.environment_id, idle_timeout_minutes: 0 };
  /** Waits for the pull requests of the run, and makes retries and polls due. */
  const until = (check: (pulls: { state: string; number: number }[]) => Promise<boolean> | boolean) =>
    vi.waitUntil(async () => {
      await db`update pull_requests set next_poll_at = outrider_now() where poll_token is null and next_poll_at is not null`;
      await db`update publications set next_attempt_at = outrider_now() where next_attempt_at > outrider_now()`;
      await db`delete from forge_requests`;
      const { pull_requests = [] } = await installation.get(run);
      return (await check(pull_requests)) ? true : undefined;
    }, waitOptions);

  // The repository is private and has no secret: the forge provides the credential.
  const run = await installation.create(["RUN: echo one > one.txt && env && cat .git/config", "SAY: done"], {
    title: "Add one",
    config,
  });
  await installation.until(run, "SUCCEEDED");
  await until(([pull]) => pull?.state === "draft");
  const [first, ...more] = await forge.pulls();
  expect(more).toEqual([]);
  expect(first).toMatchObject({ isDraft: true, branch: expect.stringMatching(/^outrider\/add-one-/) });

  // The forge is down while the next turn ends. Afterwards there is still one branch and one pull request.
  await forge.pause();
  await installation.followUp(run, ["RUN: echo two > two.txt", "SAY: done"]);
  await vi.waitUntil(async () => {
    const { publications } = (await call("GET", `/agent/runs/${run}/publications`)).body;
    return (
      publications.length > 1 &&
      publications.every(({ status_message = "", state = "" }) => state !== "QUEUED" || status_message)
    );
  }, waitOptions);
  await forge.resume();
  await until(async () => {
    const [pull] = await forge.pulls();
    return pull !== undefined && pull.commit !== first?.commit;
  });
  expect(await forge.pulls()).toMatchObject([{ number: first?.number, branch: first?.branch }]);

  await forge.merge(first?.number ?? 0);
  await until(([pull]) => pull?.state === "merged");
  const log = JSON.stringify([await installation.events(run), await installation.get(run)]);
  for (const secret of forge.secrets()) expect(log).not.toContain(secret);
}
