import { describe, expect, test } from "vitest";
import { findSecretNames, serversByName, skillName } from "../src/agent-config.ts";
import { RunAgentRequest, RunState, transitions } from "../src/run.ts";
import { isFinal } from "../src/run-state.ts";

const statesBefore = (to: RunState) =>
  RunState.options.filter((from) => (transitions[from] as readonly RunState[]).includes(to));

describe("the transition table", () => {
  test("leaves a final state only by a new turn", () => {
    for (const state of RunState.options.filter(isFinal)) expect(transitions[state]).toEqual(["QUEUED"]);
  });

  test("lets every state that is not final be cancelled and fail", () => {
    const open = RunState.options.filter((state) => !isFinal(state));
    expect(statesBefore("CANCELLED")).toEqual(open);
    expect(statesBefore("FAILED")).toEqual(open);
  });

  test("leads to success only from a run at work, or from one that waits for approval", () => {
    expect(statesBefore("SUCCEEDED")).toEqual(["INPROGRESS", "BLOCKED"]);
  });
});

describe("a request to create a run", () => {
  const accepts = (members: object) => RunAgentRequest.safeParse({ prompt: "x", ...members }).success;

  test.each([
    ["owner/repo:skill-name", true],
    ["owner/repo:path/to/SKILL.md", true],
    ["owner/repo:.claude/skills/x/SKILL.md", true],
    ["owner/repo:SKILL.md", true],
    ["owner/repo:../x/SKILL.md", false],
    ["owner/repo:a/../SKILL.md", false],
    ["owner/repo:/abs/SKILL.md", false],
    ["owner/repo", false],
    ["repo:skill", false],
    ["owner/repo:path/to/OTHER.md", false],
  ])("reads the skill %s: %s", (skill_spec, expected) => {
    expect(accepts({ config: { skill_spec } })).toBe(expected);
  });

  test("needs a prompt or a skill", () => {
    const accepted = (request: object) => RunAgentRequest.safeParse(request).success;
    const config = { skill_spec: "owner/repo:skill-name" };
    expect(accepted({ config })).toBe(true);
    expect(accepted({ prompt: "x", config })).toBe(true);
    expect(accepted({ prompt: "", config })).toBe(false);
    expect(accepted({ config: { name: "x" } })).toBe(false);
    expect(accepted({})).toBe(false);
  });

  test("counts characters of a title, and bytes of a prompt", () => {
    expect(accepts({ title: "🚀".repeat(256) })).toBe(true);
    expect(accepts({ title: "🚀".repeat(257) })).toBe(false);
    expect(accepts({ prompt: "é".repeat(131_072) })).toBe(true);
    expect(accepts({ prompt: "é".repeat(131_073) })).toBe(false);
  });
});

test("an array of MCP servers becomes the map", () => {
  expect(serversByName([{ name: "a", url: "https://a.example" }])).toEqual({
    a: { url: "https://a.example" },
  });
});

test("a skill by path is named by its folder, at the root by its repository", () => {
  expect(["o/r:s", "o/r:a/b/SKILL.md", "o/r:SKILL.md"].map(skillName)).toEqual(["s", "b", "r"]);
});

test("references to secrets are found wherever they stand", () => {
  expect(findSecretNames("Bearer ${secrets.A}:${secrets.B_2} ${secret.C} ${secrets.}")).toEqual(["A", "B_2"]);
});
