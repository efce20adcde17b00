import { isFound } from "./search-oracle.ts";
import type { SeededRun, Team } from "./seed.ts";

/** Parameters in the order in which they stand in the query. */
export type Parameters = [name: string, value: string][];

export type SortBy = "created_at" | "updated_at" | "title" | "cost" | "duration";
export type SortOrder = "asc" | "desc";

interface Question {
  parameters: Parameters;
  team: Team;
  /** The caller. */
  asker: string;
}

/** Returns the runs that a list must contain, in order; newest first by default. */
export function expectedRuns(runs: SeededRun[], question: Question): SeededRun[] {
  const { parameters } = question;
  const by = (valuesOf(parameters, "sort_by")[0] ?? "created_at") as SortBy;
  const direction = valuesOf(parameters, "sort_order")[0] === "asc" ? 1 : -1;
  return runs
    .filter((run) => matches(run, question))
    .sort((a, b) => direction * (compare(a[by], b[by]) || compareBytes(a.run_id, b.run_id)));
}

function compare(a: string | number, b: string | number): number {
  return typeof a === "number" ? a - Number(b) : compareBytes(a, String(b));
}

/** Code points in their order, as UTF-8 sorts them; JavaScript's own order would put 🦊 before ａ. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function valuesOf(parameters: Parameters, ...names: string[]): string[] {
  return parameters.filter(([name]) => names.includes(name)).map(([, value]) => value);
}

function matches(run: SeededRun, { parameters, team, asker }: Question): boolean {
  const anyOf = (names: string[], actual: string | undefined) => {
    const values = valuesOf(parameters, ...names);
    return values.length === 0 || (actual !== undefined && values.includes(actual));
  };
  const creators = valuesOf(parameters, "creator").map((creator) => uidOf(creator, team, asker));
  const types = valuesOf(parameters, "artifact_type");
  const [after] = valuesOf(parameters, "created_after");
  const [before] = valuesOf(parameters, "created_before");
  const [updated] = valuesOf(parameters, "updated_after");
  const [q] = valuesOf(parameters, "q");
  return (
    anyOf(["state"], run.state) &&
    anyOf(["config_name", "name"], run.config_name) &&
    anyOf(["model_id"], run.model_id) &&
    anyOf(["source"], run.source) &&
    anyOf(["environment_id"], run.environment_id ?? "none") &&
    anyOf(["skill_spec"], run.skill_spec) &&
    anyOf(["pull_request_state"], run.pull_request_state) &&
    anyOf(["error_code"], run.error_code ?? "none") &&
    (types.length === 0 || types.some((type) => run.artifact_types.includes(type))) &&
    (creators.length === 0 || creators.includes(run.creator_uid)) &&
    (after === undefined || Date.parse(run.created_at) >= Date.parse(after)) &&
    (before === undefined || Date.parse(run.created_at) < Date.parse(before)) &&
    (updated === undefined || Date.parse(run.updated_at) >= Date.parse(updated)) &&
    (q === undefined || isFound(q, run)) &&
    hasMetadata(run, parameters) &&
    isVisible(run, team, asker)
  );
}

function hasMetadata(run: SeededRun, parameters: Parameters): boolean {
  return parameters
    .filter(([name]) => name.startsWith("metadata["))
    .every(([name, value]) => run.metadata?.[name.slice("metadata[".length, -1)] === value);
}

function uidOf(creator: string, team: Team, asker: string): string | undefined {
  if (creator === "me") return asker;
  const lower = creator.toLowerCase();
  return team.find(({ uid, email }) => uid === lower || email?.toLowerCase() === lower)?.uid;
}

function isVisible(run: SeededRun, team: Team, asker: string): boolean {
  const isAgent = team.find(({ uid }) => uid === asker)?.type === "service_account";
  return !isAgent || run.creator_uid === asker;
}
