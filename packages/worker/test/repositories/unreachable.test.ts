import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../installation.ts";

/** Nothing listens on this port of the git host. */
const host = "127.0.0.1:9";

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startTestInstallation({ OUTRIDER_GIT_HOST: `https://${host}` });
  await installation.worker({ allowedAddresses: host });
});
afterAll(() => installation.stop());

test("an unreachable git host fails a run with a retryable error", async () => {
  const environment = { name: "e", repos: [{ url: `https://${host}/acme/api.git` }] };
  const { environment_id } = (await installation.call("POST", "/agent/environments", { body: environment }))
    .body;
  const runs = [
    await installation.create(["SAY: never"], { config: { environment_id } }),
    await installation.create(["SAY: never"], { config: { skill_spec: "acme/skills:notes" } }),
  ];
  for (const run of runs) {
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({
      error_code: "repository_unreachable",
      retryable: true,
      message: expect.stringContaining("could not be reached"),
      remedy: expect.stringContaining("Re-run it later"),
    });
    expect(status_message.message).not.toContain("private");
  }
});
