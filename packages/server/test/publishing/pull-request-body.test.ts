import { zeroUsage } from "@outrider/contract/run";
import { expect, test } from "vitest";
import { codeBlock, inlineCode, safeMarkdown } from "../../src/engine/publishing/markdown-text.ts";
import {
  isIssue,
  looksLikeCheck,
  pullRequestBody,
  pullRequestTitle,
} from "../../src/engine/publishing/pull-request-body.ts";

const runId = "01890000-0000-7000-8000-000000000001";
const run = {
  run_id: runId,
  usage: { ...zeroUsage, cost_usd: 0.4217 },
  agent_config: { model_id: "scripted" },
  receipt: {
    worker: "w",
    harness_version: "1",
    harness: { name: "claude-code", title: "Claude Code", version: "2.1.0" },
    model_id: "larger",
    repositories: [
      { url: "https://git.test/a/b", commit: "0123456789abcdef0123456789abcdef01234567", path: "b" },
    ],
    network: { mode: "none" as const },
  },
};
const options = { run, link: `https://outrider.test/runs/${runId}`, path: "b", issues: [], commands: [] };
const ran = (command: string, exit_code: number | null = 0, is_before_change = false) => ({
  command,
  exit_code,
  is_before_change,
});

test("says what was done, what verified it, and which run did it", () => {
  const body = pullRequestBody({
    ...options,
    text: "Fixed the parser.\n\n```ts\nparse();\n```",
    issues: ["#12", "acme/api#3", "not an issue"],
    commands: [
      ran("npm test", 1, true),
      ran("cat package.json"),
      ran("npm test -- --coverage"),
      ran("make lint", null),
    ],
  });
  expect(body).toBe(`Fixed the parser.

\`\`\`ts
parse();
\`\`\`

Closes #12
Closes acme/api#3

### Verified

- \`npm test -- --coverage\`: exit code 0
- \`make lint\`: was stopped
- \`npm test\`: exit code 1 (before the last change)

---
[Run of Outrider](https://outrider.test/runs/${runId}) · Agent \`claude-code 2.1.0\` · model \`larger\` · base commit \`0123456789ab\` · cost $0.42

<!-- outrider run ${runId} -->`);
});

test("lists at most ten checks, the latest ones after the last change first", () => {
  const commands = [
    ...Array.from({ length: 8 }, (_, index) => ran(`make early-${index}`, 0, true)),
    ...Array.from({ length: 6 }, (_, index) => ran(`make late-${index}`)),
  ];
  const listed = [...pullRequestBody({ ...options, text: "", commands }).matchAll(/^- `make ([\w-]+)`/gm)];
  expect(listed.map(([, name]) => name)).toEqual([
    ...["late-0", "late-1", "late-2", "late-3", "late-4", "late-5"],
    ...["early-4", "early-5", "early-6", "early-7"],
  ]);
});

test("a command is a check if it runs tools, not if it reads files", () => {
  for (const command of [
    "npm test",
    "cd api && go vet ./...",
    "pytest -q",
    "./gradlew build",
    "npx tsc -p .",
  ])
    expect([command, looksLikeCheck(command)]).toEqual([command, true]);
  for (const command of [
    "cat build.log",
    "ls test",
    "git commit -m 'Add tests'",
    "node index.js",
    "echo make",
  ])
    expect([command, looksLikeCheck(command)]).toEqual([command, false]);
});

test("text of the agent cannot mention people, hide what follows, or start commands of the forge", () => {
  const hostile = [
    "Ask @acme/team and @alice, not a@example.com",
    "<!-- hidden",
    "<details><script>",
    "  /merge",
    "> /close",
    "\u202egnp.exe \u0007",
    `<!-- outrider run ${runId} -->`,
    "- ```",
    "## Verified",
  ].join("\n");
  const body = pullRequestBody({ ...options, text: hostile, commands: [ran("make test")] });
  expect(body).not.toMatch(/@(acme|alice)/);
  expect(body).toContain("a@example.com");
  expect(body.match(/<(?=[a-z!/])/gi)).toHaveLength(1);
  expect(body).not.toMatch(/^[ >]*\/(merge|close)/m);
  expect(body).not.toMatch(/[\u202e]|\p{Cc}(?<!\n)/u);
  // The fence in a list might not be closed at the end of the text, so the text is quoted as a whole.
  const [quoted, rest] = body.split("\n\n### Verified\n\n") as [string, string];
  expect(quoted.split("\n").every((line) => line.startsWith(">"))).toBe(true);
  expect(rest).toContain("- `make test`: exit code 0");
});

test.each([
  ["no code", "plain", false],
  ["a closed block", "```\n~~~\n```", false],
  ["a longer closing fence", "~~~js\na\n~~~~", false],
  ["an open block", "```\na", true],
  ["an open block after a closed one", "```\na\n```\n~~~", true],
  ["a fence that is too short to close", "````\n```", true],
  ["an indented fence", "```\n   ```\n", true],
  ["a fence in a quotation", "> ```\n```\na\n```", true],
  ["backticks in the info string", "``` a`b\n```", true],
])("text with %s is quoted: %s", (_, text, isQuoted) => {
  expect(safeMarkdown(text, { maxCharacters: 1_000 }).startsWith("> ")).toBe(isQuoted);
});

test("commands cannot leave their code span or block", () => {
  expect(inlineCode("echo `a` ``b``\nmake `", { maxCharacters: 100 })).toBe("``` echo `a` ``b`` make ` ```");
  expect(inlineCode("x".repeat(300), { maxCharacters: 200 })).toHaveLength(202);
  expect(codeBlock("a\n```\nb")).toBe("````\na\n```\nb\n````");
});

test("the body is bounded, whatever the text expands to", () => {
  for (const text of [
    "@a ".repeat(50_000),
    "\n\n- ```".repeat(50_000),
    "<a".repeat(90_000),
    " ".repeat(90_000),
  ]) {
    const issues = Array.from({ length: 20 }, () => `#${"1".repeat(10)}`);
    const commands = Array.from({ length: 20 }, () => ran(`make ${"`".repeat(1_900)}`));
    const body = pullRequestBody({ ...options, text, issues, commands });
    expect(body.length).toBeLessThanOrEqual(60_000);
    expect(body.endsWith(`<!-- outrider run ${runId} -->`)).toBe(true);
  }
});

test("titles have one line, and issues a known form", () => {
  expect(pullRequestTitle(" Fix\n\u0000 the\tparser ")).toBe("Fix the parser");
  expect(pullRequestTitle("\n")).toBe("Changes by Outrider");
  expect(["#1", "a/b#2", "https://git.test/a/b/issues/3"].every(isIssue)).toBe(true);
  expect(["1", "#x", "@team#1", "#1\n@team", "javascript:alert(1)"].some(isIssue)).toBe(false);
});
