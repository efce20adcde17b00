import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { RunItem } from "@outrider/contract/run";
import type { TurnCommand } from "../../store/runs/turn-commands.ts";
import { inlineCode, safeMarkdown, truncate, withoutControls } from "./markdown-text.ts";

/** GitHub accepts 65,536 characters. */
const MAX_BODY = 60_000;
const MAX_TEXT = 40_000;
const MAX_COMMANDS = 10;
const MAX_COMMAND_CHARACTERS = 200;
const MAX_TITLE_CHARACTERS = 250;

interface BodyOptions {
  run: Pick<RunItem, "run_id" | "usage" | "receipt" | "agent_config">;
  /** URL of the run's page. */
  link: string;
  /** Path of the repository in the workspace. */
  path: string;
  /** What was done, by the agent or a user. */
  text: string;
  issues: string[];
  commands: TurnCommand[];
}

/**
 * Returns the text of a pull request: what was done, the commands that checked it, the run, and a marker that identifies
 * the run. The agent's text, commands and names are from outside. They cannot change the parts around them.
 */
export function pullRequestBody({ run, link, path, text, issues, commands }: BodyOptions): string {
  const parts = [
    safeMarkdown(text, { maxCharacters: MAX_TEXT }),
    issues
      .filter(isIssue)
      .map((issue) => `Closes ${issue}`)
      .join("\n"),
    verified(commands),
    facts({ run, link, path }),
    marker(run.run_id),
  ];
  return truncate(parts.filter((part) => part !== "").join("\n\n"), MAX_BODY);
}

/** Returns a title in one line. */
export function pullRequestTitle(title: string): string {
  const line = withoutControls(title).replace(/\s+/g, " ").trim();
  return truncate(line || "Changes by Outrider", MAX_TITLE_CHARACTERS);
}

/** The hidden line by which a pull request of a run can be recognized. */
export function marker(runId: string): string {
  return `<!-- outrider run ${runId} -->`;
}

/** Returns whether a reference to an issue is `#12`, `owner/name#12` or its URL. */
export function isIssue(issue: string): boolean {
  return /^([\w.-]+(\/[\w.-]+)+)?#\d{1,10}$|^https?:\/\/[\w.:-]+(\/[\w.-]+)+\/\d{1,10}$/.test(issue);
}

const checkWords =
  /\b(tests?|check|lint|build|compile|verify|typecheck|tsc|vitest|jest|mocha|playwright|pytest|tox|nox|mypy|pyright|ruff|flake8|black|eslint|biome|prettier|clippy|rubocop|rspec|phpunit|phpstan|ctest|shellcheck|vet|make|ninja|bazel|gradlew?|mvnw?|dotnet|swift)\b/i;

/** Returns whether a command looks as if it checked the changes. */
export function looksLikeCheck(command: string): boolean {
  // Words in file names, such as `cat build.log`, do not make a command a check.
  const isReading =
    /^\s*(cat|less|head|tail|ls|find|grep|rg|sed|awk|echo|cd|mkdir|touch|rm|cp|mv|git|which|test)\b[^;&|]*$/;
  return checkWords.test(command) && !isReading.test(command);
}

/** Lists the last checks. Those that ran after the last change of a file say the most. */
function verified(commands: TurnCommand[]): string {
  const checks = commands.filter(({ command }) => looksLikeCheck(command));
  const after = checks.filter(({ is_before_change }) => !is_before_change).slice(-MAX_COMMANDS);
  const before = checks.filter(({ is_before_change }) => is_before_change);
  const earlier = before.slice(Math.max(0, before.length - (MAX_COMMANDS - after.length)));
  const lines = [...after, ...earlier].map(({ command, exit_code, is_before_change }) => {
    const code = inlineCode(command, { maxCharacters: MAX_COMMAND_CHARACTERS });
    const result = exit_code === null ? "was stopped" : `exit code ${exit_code}`;
    return `- ${code}: ${result}${is_before_change ? " (before the last change)" : ""}`;
  });
  if (lines.length === 0) return "### Verified\n\nNo checks ran in the last turn.";
  return `### Verified\n\n${lines.join("\n")}`;
}

function facts({ run, link, path }: Pick<BodyOptions, "run" | "link" | "path">): string {
  const { usage, receipt, agent_config } = run;
  const harness = receipt?.harness;
  const code = (text: string) => inlineCode(text, { maxCharacters: 100 });
  const agent = harness ? `${harness.name} ${harness.version ?? ""}` : DEFAULT_HARNESS;
  const base = receipt?.repositories?.find((repository) => repository.path === path)?.commit;
  const details = [
    `Agent ${code(agent)}`,
    `model ${code(receipt?.model_id ?? agent_config.model_id ?? "unknown")}`,
    ...(base ? [`base commit ${code(base.slice(0, 12))}`] : []),
    `cost $${usage.cost_usd.toFixed(2)}`,
  ];
  return `---\n[Run of Outrider](${link}) · ${details.join(" · ")}`;
}
