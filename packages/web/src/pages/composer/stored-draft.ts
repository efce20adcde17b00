import { findSecretNames } from "@outrider/contract/agent-config";
import { storedSetting } from "../../frame/stored-setting.ts";
import { type Draft, emptyDraft, type ServerDraft } from "./draft.ts";

/** The fields that are remembered for the next run. The prompt is not included. */
const remembered = [
  ...(["environment_id", "harness", "model_id", "skill_spec", "max_steps", "max_cost_usd"] as const),
  ...(["timeout_minutes", "priority", "servers"] as const),
];

const rememberedOptions = storedSetting("composer.choice");
const unsent = storedSetting("composer.draft");

/** Removes values that may be secret, but keeps references such as `${secrets.NAME}`. */
function withoutValues(server: ServerDraft): ServerDraft {
  const values = server.values
    .split("\n")
    .map((line) => {
      const [, name = line, value = ""] = /^([^:=]*[:=])(.*)$/.exec(line) ?? [];
      return `${name}${isReference(value) ? value : ""}`;
    })
    .join("\n");
  return { ...server, values };
}

/** Returns whether the value is only a reference to a secret, perhaps after a word such as `Bearer`. */
function isReference(value: string): boolean {
  const [name] = findSecretNames(value);
  return value.trim().replace(/^\w+\s+/, "") === `\${secrets.${name}}`;
}

/** Removes servers whose URL has a query or credentials, because those often contain a key. */
function withoutSecrets(servers: ServerDraft[]): ServerDraft[] {
  return servers.filter(({ target }) => !/[?@]/.test(target)).map(withoutValues);
}

export function rememberOptions(draft: Draft) {
  const stored = { ...draft, servers: withoutSecrets(draft.servers) };
  rememberedOptions.write(
    JSON.stringify(Object.fromEntries(remembered.map((member) => [member, stored[member]]))),
  );
}

/** Saves the draft in this browser, so that it survives a reload and a closed tab. */
export function storeDraft(draft: Draft) {
  unsent.write(JSON.stringify({ ...draft, servers: withoutSecrets(draft.servers) }));
}

export function deleteDraft() {
  unsent.write(undefined);
}

export function storedDraft(): Draft {
  return { ...emptyDraft, ...parsed(rememberedOptions.read()), ...parsed(unsent.read()) };
}

/** Validates stored data, because an older version may have written it. */
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
