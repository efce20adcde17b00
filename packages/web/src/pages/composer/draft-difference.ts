import type { Draft, ServerDraft, TextMember } from "./draft.ts";

export interface FieldDifference {
  member: keyof Draft;
  label: string;
  before: string;
  after: string;
}

const labels: Record<TextMember, string> = {
  prompt: "Prompt",
  title: "Title",
  name: "Name",
  environment_id: "Environment",
  harness: "Harness",
  model_id: "Model",
  reasoning_effort: "Reasoning effort",
  skill_spec: "Skill",
  publish: "Publish",
  sandbox: "Sandbox",
  worker_host: "Worker pool",
  worker_selector: "Worker labels",
  base_prompt: "Base prompt",
  idle_timeout_minutes: "Idle timeout (minutes)",
  max_steps: "Step limit",
  max_cost_usd: "Cost limit (USD)",
  timeout_minutes: "Time limit (minutes)",
  priority: "Priority",
  metadata: "Metadata",
  output_schema: "Output schema",
};

/** Returns the fields in which two drafts differ. */
export function differencesOf(before: Draft, after: Draft): FieldDifference[] {
  const texts = (Object.keys(labels) as TextMember[])
    .filter((member) => before[member].trim() !== after[member].trim())
    .map((member) => ({
      member,
      label: labels[member],
      before: before[member].trim(),
      after: after[member].trim(),
    }));
  const [servers, now] = [before, after].map((draft) => draft.servers.map(describe).join("\n"));
  if (servers === now) return texts;
  return [...texts, { member: "servers", label: "MCP servers", before: servers ?? "", after: now ?? "" }];
}

/** Describes a server without its values, which may be secret. */
function describe({ name, target, args, values }: ServerDraft): string {
  const names = values.split("\n").map((line) => line.split(/[:=]/)[0]?.trim());
  return [name, target, ...args.split("\n"), ...names].filter(Boolean).join(" ");
}

export interface LineDifference {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Longer texts are shown as replaced, because the comparison takes quadratic time. */
const MAX_LINES = 400;

/** Compares two texts line by line. */
export function compareLines(before: string, after: string): LineDifference[] {
  const a = before.split("\n");
  const b = after.split("\n");
  const removed = (text: string): LineDifference => ({ kind: "removed", text });
  const added = (text: string): LineDifference => ({ kind: "added", text });
  if (a.length > MAX_LINES || b.length > MAX_LINES) return [...a.map(removed), ...b.map(added)];
  // common[i][j] is the length of the longest common subsequence of the lines from i and from j on.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (common[i] as Uint16Array)[j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: LineDifference[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] ?? "" });
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1)))
      lines.push(removed(a[i++] ?? ""));
    else lines.push(added(b[j++] ?? ""));
  }
  return lines;
}
