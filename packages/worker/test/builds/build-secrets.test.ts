import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestInstallation, type TestInstallation } from "../installation.ts";

/** Builds with secrets, end to end. */

let installation: TestInstallation;

const value = "npm_9f+b/2c7e51d0a4";
const pem = `-----BEGIN KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"}\n${"kZp0Qw8sTt7uVvXyYz1234567890abcd"}\nshort\n-----END KEY-----\n`;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
  for (const [name, secret] of Object.entries({ NPM_TOKEN: value, SIGNING_KEY: pem })) {
    const reply = await installation.call("PUT", `/agent/secrets/${name}`, { body: { value: secret } });
    expect(reply.status).toBe(200);
  }
});
afterAll(() => installation.stop());

async function start(setup_commands: string[], { script = ["SAY: done"], ...body }: BodyOptions = {}) {
  const reply = await installation.call("POST", "/agent/environments", {
    body: {
      name: `env ${randomUUID().slice(0, 8)}`,
      setup_commands,
      build_secrets: ["NPM_TOKEN", "SIGNING_KEY"],
      ...body,
    },
  });
  const { environment_id } = reply.body;
  return { environment_id, run: await installation.create(script, { config: { environment_id } }) };
}
type BodyOptions = { script?: string[] } & Record<string, unknown>;

async function readBuildLog(environment_id: string): Promise<string> {
  const path = `/agent/environments/${environment_id}/builds`;
  const { builds } = (await installation.call("GET", path)).body;
  return (await installation.call("GET", `${path}/${builds[0].build_id}/events`)).text;
}

describe("a build secret", () => {
  test("is available to setup commands only, and its output is redacted", async () => {
    const { environment_id, run } = await start(
      ['echo "got ${#NPM_TOKEN} $NPM_TOKEN"', 'echo "$NPM_TOKEN" > ~/.npmrc', "rm ~/.npmrc"],
      { script: ["RUN: echo seen=${NPM_TOKEN-nothing}"] },
    );
    await installation.until(run, "SUCCEEDED");
    const log = await readBuildLog(environment_id);
    expect(log).toContain(`got ${value.length} ***`);
    expect(log).not.toContain(value);
    const events = JSON.stringify(await installation.events(run));
    expect(events).toContain("seen=nothing");
  });

  test.each([
    ["as it is", 'echo "//registry/:_authToken=$NPM_TOKEN" > ~/.npmrc', "NPM_TOKEN", "~/.npmrc"],
    ["in a file without line ends", 'printf "\\0$NPM_TOKEN\\0" > "a b\'"', "NPM_TOKEN", "a b'"],
    ["in base64", 'mkdir -p c; echo -n "me:$NPM_TOKEN" | base64 > c/auth', "NPM_TOKEN", "c/auth"],
    ["in a URL", "echo 'https://npm_9f%2Bb%2F2c7e51d0a4@git.test' > .netrc", "NPM_TOKEN", ".netrc"],
    ["with several lines", 'echo "$SIGNING_KEY" > key.pem', "SIGNING_KEY", "key.pem"],
  ])("that remains in the files %s fails the build", async (_form, command, name, file) => {
    const { environment_id, run } = await start([command, "true"]);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({
      error_code: "environment_setup_failed",
      message: `\`${name}\` is in \`${file}\`. Secrets must not stay in the build: delete the file in the last setup command.`,
    });
    expect(await readBuildLog(environment_id)).not.toContain(value);
    const { body } = await installation.call("GET", `/agent/environments/${environment_id}/builds`);
    expect(body.builds).toMatchObject([{ state: "FAILED" }]);
  });

  test("fails the build if a file cannot be searched", async () => {
    const { run } = await start(["echo x > hidden; chmod 0 hidden"]);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message.message).toMatch(
      /^Cannot search the build's files for secrets: .*hidden.*Make all files/,
    );
  });

  test("is not searched for in pipes, links and files of other environments", async () => {
    const { run } = await start(["mkfifo pipe; ln -s /proc proc; ln -s / root; truncate -s 1G sparse"]);
    await installation.until(run, "SUCCEEDED");
  });
});

test("a changed variable makes a new build, a changed secret does not", async () => {
  const { environment_id, run } = await start(["date +%N > made"], { variables: { A: "1" } });
  await installation.until(run, "SUCCEEDED");
  const { body } = await installation.call("GET", `/agent/environments/${environment_id}`);
  const buildOf = async (variables: object) => {
    const { name, setup_commands, build_secrets } = body;
    const replaced = { name, setup_commands, build_secrets, variables };
    await installation.call("PUT", `/agent/environments/${environment_id}`, { body: replaced });
    const next = await installation.create(["SAY: done"], { config: { environment_id } });
    return (await installation.until(next, "SUCCEEDED")).receipt.environment.build_id;
  };
  const first = (await installation.get(run)).receipt.environment.build_id;
  await installation.call("PUT", "/agent/secrets/NPM_TOKEN", { body: { value: `${value}-renewed` } });
  expect(await buildOf({ A: "1" })).toBe(first);
  expect(await buildOf({ A: "2" })).not.toBe(first);
});
