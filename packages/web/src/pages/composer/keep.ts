import { setting } from "../../shell/setting.ts";
import { type Draft, emptyDraft, type ServerDraft } from "./draft.ts";

/** How the next run will probably execute. What it is told to do is not part of it. */
const remembered = [
  ...(["environment_id", "model_id", "skill_spec", "max_steps", "max_cost_usd", "timeout_minutes"] as const),
  ...(["priority", "servers"] as const),
];

const choice = setting("composer.choice");
const DRAFT = "outrider.composer.draft";

/** References to secrets may be kept, their names are no secret. Whatever else is a value may be one. */
function withoutValues(server: ServerDraft): ServerDraft {
  const values = server.values
    .split("\n")
    .map((line) => {
      const [, name = line, value = ""] = /^([^:=]*[:=])(.*)$/.exec(line) ?? [];
      return `${name}${/^\s*(\w+\s+)?\$\{secrets\.\w+\}\s*$/.test(value) ? value : ""}`;
    })
    .join("\n");
  return { ...server, values };
}

/** An address with a query often carries a key in it. */
function keepable(servers: ServerDraft[]): ServerDraft[] {
  return servers.filter(({ target }) => !/[?@]/.test(target)).map(withoutValues);
}

export function rememberChoice(draft: Draft) {
  const kept = { ...draft, servers: keepable(draft.servers) };
  choice.write(JSON.stringify(Object.fromEntries(remembered.map((member) => [member, kept[member]]))));
}

/** Until the tab is closed, so that a reload loses nothing. */
export function keepDraft(draft: Draft) {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ ...draft, servers: keepable(draft.servers) }));
  } catch {
    // Without storage the draft lasts as long as the page.
  }
}

export function dropDraft() {
  try {
    sessionStorage.removeItem(DRAFT);
  } catch {
    // There was none.
  }
}

export function keptDraft(): Draft {
  return { ...emptyDraft, ...parsed(choice.read()), ...parsed(keptText()) };
}

function keptText(): string | undefined {
  try {
    return sessionStorage.getItem(DRAFT) ?? undefined;
  } catch {
    return undefined;
  }
}

/** An older version, or a curious reader, may have written anything there. */
function parsed(text: string | undefined): Partial<Draft> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    if (typeof value !== "object" || value === null) return {};
    const isKept = ([member, each]: [string, unknown]) =>
      member in emptyDraft && (member === "servers" ? Array.isArray(each) : typeof each === "string");
    return Object.fromEntries(Object.entries(value).filter(isKept));
  } catch {
    return {};
  }
}
