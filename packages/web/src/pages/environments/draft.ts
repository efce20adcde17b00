import type { CloudEnvironment, CloudEnvironmentRequest } from "@outrider/sdk";
import type { Faults } from "../../faults.ts";
import { type Row, rowKey } from "../../ui/rows.tsx";

export interface RepositoryRow extends Row {
  /** `owner/repo`, or an address. */
  address: string;
  ref: string;
  path: string;
  secret: string;
}

export interface TextRow extends Row {
  text: string;
}

export interface VariableRow extends Row {
  name: string;
  value: string;
}

export const amounts = [
  "cpus",
  "memory_mb",
  "pids",
  "disk_mb",
  "timeout_minutes",
  "max_concurrent_runs",
] as const;
export type Amount = (typeof amounts)[number];

type NetworkMode = CloudEnvironment["network"]["mode"];

/** An environment as a form holds it: everything is text, rows have keys, and half of it may be missing. */
export interface Draft {
  name: string;
  description: string;
  repos: RepositoryRow[];
  setup: TextRow[];
  variables: VariableRow[];
  secrets: string[];
  mode: NetworkMode;
  allow: TextRow[];
  amounts: Record<Amount, string>;
}

export const blankRepository = (): RepositoryRow => ({
  key: rowKey(),
  address: "",
  ref: "",
  path: "",
  secret: "",
});
export const blankText = (text = ""): TextRow => ({ key: rowKey(), text });
export const blankVariable = (name = "", value = ""): VariableRow => ({ key: rowKey(), name, value });

export function blankDraft(): Draft {
  return {
    name: "",
    description: "",
    repos: [blankRepository()],
    setup: [blankText()],
    variables: [],
    secrets: [],
    mode: "none",
    allow: [],
    amounts: { cpus: "", memory_mb: "", pids: "", disk_mb: "", timeout_minutes: "", max_concurrent_runs: "" },
  };
}

export function draftOf(environment: CloudEnvironment): Draft {
  const {
    name,
    description = "",
    repos,
    setup_commands,
    variables,
    secrets,
    network,
    resources,
  } = environment;
  const given = { ...resources, ...environment } as Partial<Record<Amount, number>>;
  return {
    name,
    description,
    repos: repos.map(({ url, owner, repo, ref = "", path = "", secret = "" }) => ({
      key: rowKey(),
      address: url ?? `${owner}/${repo}`,
      ref,
      path,
      secret,
    })),
    setup: setup_commands.map(blankText),
    variables: Object.entries(variables).map(([name, value]) => blankVariable(name, value)),
    secrets,
    mode: network.mode,
    allow: (network.allow ?? []).map(blankText),
    amounts: Object.fromEntries(amounts.map((each) => [each, String(given[each] ?? "")])) as Draft["amounts"],
  };
}

/** Without rows that nobody filled in, so that the API counts them as the form does. */
export function pruned(draft: Draft): Draft {
  return {
    ...draft,
    repos: draft.repos.filter(({ address, ref, path }) => `${address}${ref}${path}`.trim()),
    setup: draft.setup.filter(({ text }) => text.trim()),
    variables: draft.variables.filter(({ name, value }) => name.trim() || value),
    allow: draft.mode === "allowlist" ? draft.allow.filter(({ text }) => text.trim()) : [],
  };
}

const ownerAndRepo = /^([\w.-]+)\/([\w.-]+)$/;

function repositoryOf({ address, ref, path, secret }: RepositoryRow) {
  const [, owner, repo] = ownerAndRepo.exec(address.trim()) ?? [];
  return {
    ...(owner && repo ? { owner, repo } : { url: address.trim() }),
    ...(ref.trim() ? { ref: ref.trim() } : {}),
    ...(path.trim() ? { path: path.trim() } : {}),
    ...(secret ? { secret } : {}),
  };
}

/** Of a pruned draft. */
export function requestOf(draft: Draft): CloudEnvironmentRequest {
  const { name, description, repos, setup, variables, secrets, mode, allow } = draft;
  const numbers = Object.fromEntries(
    amounts.flatMap((each) => (draft.amounts[each].trim() ? [[each, Number(draft.amounts[each])]] : [])),
  ) as Partial<Record<Amount, number>>;
  const { timeout_minutes, max_concurrent_runs, ...resources } = numbers;
  return {
    name: name.trim(),
    ...(description.trim() ? { description: description.trim() } : {}),
    repos: repos.map(repositoryOf),
    setup_commands: setup.map(({ text }) => text),
    variables: Object.fromEntries(variables.map(({ name, value }) => [name.trim(), value])),
    secrets,
    network: mode === "allowlist" ? { mode, allow: allow.map(({ text }) => text.trim()) } : { mode },
    ...(Object.keys(resources).length ? { resources } : {}),
    ...(timeout_minutes === undefined ? {} : { timeout_minutes }),
    ...(max_concurrent_runs === undefined ? {} : { max_concurrent_runs }),
  };
}

export function isSame(one: Draft, other: Draft): boolean {
  const plain = (draft: Draft) =>
    JSON.stringify({ ...draft, ...pruned(draft) }, (name, value) => (name === "key" ? undefined : value));
  return plain(one) === plain(other);
}

/** Which rows there are, and in which order. */
export function orderOf({ repos, setup, variables, allow }: Draft): string {
  return [repos, setup, variables, allow].map((rows) => rows.map(({ key }) => key).join()).join(";");
}

export const amountPointer = (amount: Amount) =>
  amount === "timeout_minutes" || amount === "max_concurrent_runs" ? `/${amount}` : `/resources/${amount}`;

/** What a request could not even say: the API would never see it. */
export function ownFaults(draft: Draft): Faults {
  const faults: Record<string, string> = {};
  for (const amount of amounts) {
    const text = draft.amounts[amount].trim();
    if (text && !Number.isFinite(Number(text))) faults[amountPointer(amount)] = "Must be a number.";
  }
  const seen = new Set<string>();
  for (const { name } of draft.variables) {
    if (!name.trim()) faults["/variables/"] = "A value needs the name of its variable.";
    else if (seen.has(name.trim()))
      faults[`/variables/${name.trim()}`] = "Is named twice; remove one of them.";
    seen.add(name.trim());
  }
  if (draft.mode === "allowlist" && draft.allow.length === 0)
    faults["/network/allow"] = "Name at least one domain, or choose no network.";
  return faults;
}

const nouns: Record<string, string> = {
  repos: "Repository",
  setup_commands: "Setup command",
  variables: "Variable",
  secrets: "Secret",
  allow: "Domain",
};

/** `/repos/0/url` as the form calls it: "Repository 1". */
export function nameOfMember(pointer: string): string {
  const [, first = "", second, third] = pointer.split("/");
  const noun = first === "network" ? "allow" : first;
  const place = first === "network" ? third : second;
  const name = nouns[noun];
  if (!name) return (second ?? first).replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
  return place === undefined ? name : `${name} ${/^\d+$/.test(place) ? Number(place) + 1 : place}`;
}
