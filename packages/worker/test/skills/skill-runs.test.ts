import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import {
  longSleep,
  outputOf,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../installation.ts";
import { makeFolder, Origin } from "../repositories/git-server.ts";

/** Runs with skills: instructions, receipt and files in the sandbox. */

let installation: TestInstallation;
let temporary: ReturnType<typeof makeFolder>;
/** Only on the git host. */
let shared: Origin;
/** In an environment. */
let tools: Origin;
let environment_id: string;

const skill = (name: string, body: string) =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;

beforeAll(async () => {
  temporary = makeFolder();
  for (const owner of ["host/acme", "own/acme"])
    mkdirSync(join(temporary.folder, owner), { recursive: true });
  shared = new Origin(join(temporary.folder, "host/acme"), "shared");
  shared.push("main", {
    "skills/notes/SKILL.md": skill("release-notes", "Write the notes."),
    "skills/notes/scripts/make.sh": "echo made by the skill\n",
    "skills/lenient/SKILL.md": `---\nname: lenient\ndescription: Use it when: ${"asked ".repeat(340)}\n---\nBe lenient.`,
    "skills/twin/SKILL.md": skill("twin", "one"),
    ".agents/skills/twin/SKILL.md": skill("twin", "two"),
  });
  mkdirSync(join(shared.copy, "skills/escape"));
  symlinkSync("../../../../../../etc/passwd", join(shared.copy, "skills/escape/SKILL.md"));
  shared.push("main", {});
  // The git host has a repository of the same name, but the environment's takes precedence.
  new Origin(join(temporary.folder, "host/acme"), "tools").push("main", {
    "skills/deploy/SKILL.md": skill("deploy", "From the git host."),
  });
  tools = new Origin(join(temporary.folder, "own/acme"), "tools");
  tools.push("main", {
    "skills/deploy/SKILL.md": skill("deploy", "From the environment."),
    "skills/deploy/steps.md": "the steps\n",
  });
  installation = await startTestInstallation({ OUTRIDER_GIT_HOST: `file://${temporary.folder}/host` });
  await installation.worker({ repositoryPaths: [temporary.folder] });
  const { body } = await installation.call("POST", "/agent/environments", {
    body: { name: "tools", repos: [{ url: `file://${tools.bare}` }] },
  });
  environment_id = body.environment_id;
});
afterAll(async () => {
  await installation.stop();
  temporary.remove();
});

const start = (skill_spec: string, script: string[], config: object = {}) =>
  installation.create(script, { config: { skill_spec, ...config } });
const instructionsOf = async (run: string): Promise<string[]> =>
  (await installation.events(run)).flatMap(({ type, data }) =>
    type === "run.started" ? [data.instructions] : [],
  );

async function failure(
  skill_spec: string,
  config: object = {},
  error_code = "skill_not_found",
): Promise<string> {
  const run = await start(skill_spec, ["SAY: never"], config);
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message).toMatchObject({ error_code, retryable: false });
  return status_message.message;
}

describe("a skill from the git host", () => {
  test.each(["acme/shared:release-notes", "acme/shared:skills/notes/SKILL.md"])(
    "is read as %s: its body is in the instructions, its commit in the receipt, its files in the sandbox",
    async (skill_spec) => {
      const commit = shared.run("rev-parse", "HEAD");
      const base_prompt = "Speak like a pirate.";
      const folder = `/home/sandbox/skills/${skill_spec.includes("/SKILL.md") ? "notes" : "release-notes"}`;
      const script = [
        `RUN: cd ${folder} && sh scripts/make.sh && head -2 SKILL.md`,
        `RUN: touch ${folder}/x`,
      ];
      const run = await start(skill_spec, script, { base_prompt });
      const item = await installation.until(run, "SUCCEEDED");
      expect(item.agent_config).toMatchObject({ name: "release-notes", skill_spec });
      expect(item.receipt.skill).toEqual({
        skill_spec,
        name: "release-notes",
        repository: `file://${shared.bare}`,
        commit,
        path: "skills/notes/SKILL.md",
      });
      const [instructions] = await instructionsOf(run);
      expect(instructions).toMatch(
        /Speak like a pirate\.\n\n# Skill: release-notes\n.*- scripts\/make\.sh\n\nWrite the notes\.$/s,
      );
      expect(instructions).toContain(`Its folder is ${folder};`);
      const events = await installation.events(run);
      expect(outputOf(events)).toContain("made by the skill\n---\nname: release-notes\n");
      expect(outputOf(events)).toContain("Permission denied");
      const { body } = await installation.call("GET", "/agent/runs?name=release-notes&limit=100");
      expect(body.runs.map(({ run_id }: { run_id: string }) => run_id)).toContain(run);
    },
  );

  test("opens no sandbox if the agent needs none", async () => {
    const run = await start("acme/shared:release-notes", ["SAY: done"]);
    const { receipt } = await installation.until(run, "SUCCEEDED");
    expect(receipt.skill.name).toBe("release-notes");
    expect(receipt.resources).toBeUndefined();
  });

  test("is used with a notice if its front matter is not valid YAML", async () => {
    const run = await start("acme/shared:lenient", ["SAY: done"]);
    const { receipt } = await installation.until(run, "SUCCEEDED");
    expect(receipt.skill.name).toBe("lenient");
    expect((await instructionsOf(run))[0]).toMatch(/\n\nBe lenient\.$/);
    const notices = (await installation.events(run)).filter(({ data }) => data.code === "skill");
    expect(notices.map(({ data }) => data.message)).toEqual([
      expect.stringContaining("skills/lenient/SKILL.md has front matter that is not valid YAML"),
      expect.stringMatching(/has a `description` of 20\d\d characters; only the first 1024 are used/),
    ]);
  });

  test("does not override a name from the caller", async () => {
    const run = await start("acme/shared:skills/notes/SKILL.md", ["SAY: done"], { name: "mine" });
    expect((await installation.until(run, "SUCCEEDED")).agent_config.name).toBe("mine");
  });

  test("works in an environment that has other repositories", async () => {
    const run = await start(
      "acme/shared:release-notes",
      ["RUN: cat ~/skills/release-notes/scripts/make.sh"],
      {
        environment_id,
      },
    );
    const item = await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toBe("echo made by the skill\n");
    expect((await installation.call("GET", `/agent/runs/${run}/diff`)).text).toBe("");
    expect(item.receipt.repositories).toHaveLength(1);
  });
});

describe("a skill of the environment", () => {
  test.each(["acme/tools:deploy", "acme/tools:skills/deploy/SKILL.md"])(
    "is read as %s from the checkout, before one of the git host",
    async (skill_spec) => {
      const run = await start(skill_spec, ["RUN: cat skills/deploy/steps.md; ls ~"], {
        environment_id,
      });
      const item = await installation.until(run, "SUCCEEDED");
      const [instructions] = await instructionsOf(run);
      expect(instructions).toContain("Its folder is /workspace/tools/skills/deploy;");
      expect(instructions).toMatch(/- steps\.md\n\nFrom the environment\.$/);
      expect(outputOf(await installation.events(run))).toBe("the steps\n");
      expect(item.receipt.skill).toMatchObject({ repository: `file://${tools.bare}`, name: "deploy" });
      expect(item.receipt.skill.commit).toBe(item.receipt.repositories[0].commit);
    },
  );

  test("is listed with its environments once they are built", async () => {
    await installation.until(
      await installation.create(["SAY: built"], { config: { environment_id } }),
      "SUCCEEDED",
    );
    // Another environment with the same content shares the build, and the skill is listed for both.
    const other = await installation.call("POST", "/agent/environments", {
      body: { name: `zz ${randomUUID()}`, repos: [{ url: `file://${tools.bare}` }] },
    });
    const { environment_id: second } = other.body;
    await installation.until(
      await installation.create(["SAY: built"], { config: { environment_id: second } }),
      "SUCCEEDED",
    );
    const { body } = await installation.call("GET", "/agent/skills");
    expect(body).toEqual({
      skills: [
        {
          name: "deploy",
          description: "About deploy.",
          skill_spec: "acme/tools:deploy",
          environments: [environment_id, second],
        },
      ],
    });
  });
});

describe("the skills of the environment's repositories", () => {
  const toolResults = async (run: string) =>
    (await installation.events(run)).flatMap(({ type, data }) => (type === "tool.returned" ? [data] : []));

  test("are listed in the instructions, and the agent loads one with use_skill", async () => {
    const script = [
      'CALL: use_skill {"name": "depoy"}',
      'CALL: use_skill {"name": "deploy"}',
      "RUN: cat /workspace/tools/skills/deploy/steps.md",
    ];
    const run = await installation.create(script, { config: { environment_id } });
    const { receipt } = await installation.until(run, "SUCCEEDED");
    const [instructions = ""] = await instructionsOf(run);
    expect(instructions).toContain("# Skills\n");
    expect(instructions).toContain("\n- deploy: About deploy.");
    expect(instructions).not.toContain("From the environment.");
    const [unknown, loaded] = await toolResults(run);
    expect(unknown).toMatchObject({
      output: 'There is no skill "depoy". Similar names: "deploy".',
      is_error: true,
    });
    expect(loaded.output).toMatch(
      /^# Skill: deploy\nYou loaded this skill: .*- steps\.md\n\nFrom the environment\.$/s,
    );
    expect(loaded.output).toContain("Its folder is /workspace/tools/skills/deploy;");
    const used = {
      skill_spec: "acme/tools:deploy",
      name: "deploy",
      repository: `file://${tools.bare}`,
      commit: receipt.repositories[0].commit,
      path: "skills/deploy/SKILL.md",
    };
    expect(receipt.skills_used).toEqual([used]);
    expect(receipt.skill).toBeUndefined();
    await installation.followUp(run, ["SAY: nothing new"]);
    const later = await vi.waitUntil(async () => {
      const item = await installation.get(run);
      return item.turns === 2 && item.state === "SUCCEEDED" ? item : undefined;
    }, waitOptions);
    expect(later.receipt.skills_used).toEqual([used]);
  });

  test("include those that were added since the build, and a skill that fails does not end the turn", async () => {
    const growing = new Origin(join(temporary.folder, "own/acme"), "growing");
    growing.push("main", { "skills/first/SKILL.md": skill("first", "First.") });
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "growing", repos: [{ url: `file://${growing.bare}` }] },
    });
    const config = { environment_id: body.environment_id };
    const before = await installation.create(["SAY: built"], { config });
    await installation.until(before, "SUCCEEDED");
    expect((await instructionsOf(before))[0]).toContain("- first: About first.");
    growing.push("main", {
      "skills/second/SKILL.md": skill("second", "Second."),
      "skills/large/SKILL.md": skill("large", "x".repeat(100_000)),
    });
    const script = ['CALL: use_skill {"name": "second"}', 'CALL: use_skill {"name": "large"}'];
    const after = await installation.create(script, { config });
    await installation.until(after, "SUCCEEDED");
    expect((await instructionsOf(after))[0]).toMatch(/\n- first: About first\.\n.*- second: About second\./s);
    const [second, large] = await toolResults(after);
    expect(second.output).toMatch(/\n\nSecond\.$/);
    expect(large.output).toMatch(
      /x\n\n\[The text above is truncated to its first 65536 of 100\d+ bytes\. Read \/workspace\/growing\/skills\/large\/SKILL\.md for the rest\.\]$/,
    );
  });

  test("do not exist in a run without repositories", async () => {
    const run = await installation.create(['CALL: use_skill {"name": "deploy"}']);
    await installation.until(run, "SUCCEEDED");
    expect((await instructionsOf(run))[0]).not.toContain("# Skills");
    expect((await toolResults(run))[0].output).toMatch(/no tool/);
  });
});

describe("a run fails with a precise message for", () => {
  test("a missing skill", async () => {
    const message = await failure("acme/shared:release-note");
    expect(message).toContain(`In file://${shared.bare} at ${shared.run("rev-parse", "HEAD").slice(0, 12)}`);
    expect(message).toContain('closest matches: "release-notes"');
    expect(await failure("acme/shared:skills/note/SKILL.md")).toContain("there is no skills/note/SKILL.md");
    expect(await failure("acme/tools:nothing", { environment_id })).toContain(tools.bare);
  });

  test("a missing repository", async () => {
    const message = await failure("acme/nowhere:release-notes");
    expect(message).toContain("acme/nowhere");
    expect(message).toContain("The environment does not include acme/nowhere");
    expect(await failure("acme/..:release-notes")).toContain("is not a valid repository name");
  });

  test("an ambiguous name", async () => {
    const message = await failure("acme/shared:twin", {}, "skill_invalid");
    expect(message).toContain(".agents/skills/twin/SKILL.md, skills/twin/SKILL.md");
  });

  test("a link that points outside the repository", async () => {
    const message = await failure("acme/shared:skills/escape/SKILL.md", {}, "skill_invalid");
    expect(message).toContain("points outside the repository");
    expect(message).not.toContain("root:");
  });
});

test("a run keeps its skill's commit when the branch moves and the git host is unreachable", async () => {
  const moving = new Origin(join(temporary.folder, "host/acme"), "moving");
  const file = "skills/x/SKILL.md";
  const first = moving.push("main", { [file]: skill("x", "First text."), "skills/x/data": "first\n" });
  const show = "RUN: cat ~/skills/x/data";
  const config = { idle_timeout_minutes: 0 };
  const run = await start("acme/moving:x", [show], config);
  await installation.until(run, "SUCCEEDED");
  moving.push("main", { [file]: skill("renamed", "Second text."), "skills/x/data": "second\n" });
  await installation.followUp(run, [show]);
  const turns = async (count: number) =>
    vi.waitUntil(async () => {
      const item = await installation.get(run);
      return item.turns === count && item.state === "SUCCEEDED" ? item : undefined;
    }, waitOptions);
  expect((await turns(2)).receipt.skill).toMatchObject({ commit: first, name: "x" });
  renameSync(join(moving.bare, "HEAD"), join(moving.bare, "AWAY"));
  await installation.followUp(run, [show]);
  expect((await turns(3)).receipt.skill.commit).toBe(first);
  expect(outputOf(await installation.events(run))).toBe("first\n".repeat(3));
  for (const text of await instructionsOf(run)) expect(text).toContain("First text.");
  renameSync(join(moving.bare, "AWAY"), join(moving.bare, "HEAD"));
  // A new run uses the current version.
  const later = await start("acme/moving:skills/x/SKILL.md", ["SAY: done"]);
  expect((await installation.until(later, "SUCCEEDED")).agent_config.name).toBe("renamed");
});

test("the skill and its files are restored after a worker is killed", async () => {
  const own = await startTestInstallation({
    OUTRIDER_GIT_HOST: `file://${temporary.folder}/host`,
  });
  try {
    const doomed = await own.workerProcess("doomed", "--repository-paths", temporary.folder);
    const { command, mark } = longSleep();
    const run = await own.create([`RUN: ${command}`], {
      config: { skill_spec: "acme/shared:release-notes" },
    });
    await waitForSleep(mark);
    const { commit } = (await own.get(run)).receipt.skill;
    shared.push("main", { "skills/notes/scripts/make.sh": "echo changed\n" });
    await doomed.end("SIGKILL");
    await own.expireLease(run);
    await own.worker({ repositoryPaths: [temporary.folder] });
    await own.event(run, ({ type, attempt }) => type === "command.started" && attempt === 2);
    await own.followUp(run, ["RUN: cat ~/skills/release-notes/scripts/make.sh"], { mode: "interrupt" });
    const item = await own.until(run, "SUCCEEDED");
    expect(item.attempts).toBe(2);
    expect(item.receipt.skill.commit).toBe(commit);
    expect(outputOf(await own.events(run))).toMatch(/echo made by the skill\n$/);
  } finally {
    await own.stop();
  }
});
