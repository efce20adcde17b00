import { randomUUID } from "node:crypto";
import { type PullRequestState, pullRequestStates } from "@outrider/contract/pull-request";
import type { RunSourceType, RunState } from "@outrider/contract/run";
import type { Tx } from "../../../src/store/connection/db.ts";
import { putPullRequest } from "../../../src/store/pull-requests.ts";
import { searchWords } from "../../../src/store/runs/search.ts";
import type { TestServer } from "../../server.ts";
import { createRandom, type Random } from "./random.ts";
import { randomPrompt, randomTitle } from "./words.ts";

export interface SeededRun {
  run_id: string;
  title: string;
  prompt: string;
  state: RunState;
  source: RunSourceType;
  creator_uid: string;
  model_id: string;
  config_name?: string;
  environment_id?: string;
  skill_spec?: string;
  metadata?: Record<string, string>;
  artifact_types: string[];
  /** The state that counts; the run may also have a closed pull request. */
  pull_request_state?: PullRequestState;
  error_code?: string;
  cost: number;
  duration: number;
  created_at: string;
  updated_at: string;
}

export interface Member {
  uid: string;
  type: "user" | "service_account";
  email?: string;
  key: string;
  key_id: string;
}

/** The admin, two members, and a cloud agent of each member. */
export type Team = [admin: Member, member: Member, other: Member, bot: Member, robot: Member];

export const states: RunState[] = ["QUEUED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "CANCELLED"];
export const sources: RunSourceType[] = ["API", "CLI", "GITHUB_ACTION", "WEB_APP"];
export const models = ["scripted", "Scripted-2", "größer"];
export const skills = [
  "acme/skills:release-notes",
  "acme/skills:docs/review/SKILL.md",
  "other/repo:release-notes",
];
export const errorCodes = ["timeout", "internal_error"];
export const configNames = ["nightly", "Nightly", 'a"b\\c{d},NULL', "NULL", "naïve name", "x=1&y=2+z%20"];
export const metadataValues: Record<string, string[]> = {
  team: ["api", "web", ""],
  build: ["1", "10"],
  "a.b-c_D": ["é", 'quo"te'],
  region: ["eu", "us"],
  tier: ["gold"],
};

export const DAY = 86_400_000;
export const FIRST_DAY = Date.parse("2025-03-01T00:00:00.000Z");

export interface Seed {
  team: Team;
  environments: string[];
  runs: SeededRun[];
}

export async function seedRuns(server: TestServer): Promise<Seed> {
  const random = createRandom(20_260_101);
  const team = await createTeam(server);
  const environments = await Promise.all(
    ["one", "two", "three"].map(async (name) => {
      const { body } = await server.call("POST", "/agent/environments", { body: { name } });
      return body.environment_id as string;
    }),
  );
  const written = Array.from({ length: 340 }, () => randomRun(random, team, environments));
  await writeRuns(server, team, written);
  const drafts = Array.from({ length: 60 }, () => randomRun(random, team, environments));
  const created = await Promise.all(drafts.map((draft) => createRun(server, team, draft)));
  return { team, environments, runs: [...written, ...created] };
}

async function createTeam(server: TestServer): Promise<Team> {
  const whoHas = async (key: string): Promise<Member> => {
    const { type, uid, email, key: me } = (await server.call("GET", "/me", { key })).body;
    return { type, uid, key, key_id: me.key_id, ...(email ? { email } : {}) };
  };
  const cloudAgent = async (owner: string, name: string) => {
    const { body } = await server.call("POST", "/agent/identities", { key: owner, body: { name } });
    const key = { name, type: "agent", agent_uid: body.uid };
    return whoHas((await server.call("POST", "/keys", { key: owner, body: key })).body.key);
  };
  const member = await server.user("Member@Example.com");
  const other = await server.user("other+test@example.com");
  return [
    await whoHas(server.key),
    await whoHas(member),
    await whoHas(other),
    await cloudAgent(member, "bot"),
    await cloudAgent(other, "robot"),
  ];
}

/** Every member by itself, so that no filter can stand in for another; few moments, so that many runs share one. */
function randomRun(random: Random, team: Team, environments: string[]): SeededRun {
  const created = FIRST_DAY + random.below(12) * DAY + random.below(4) * 21_599_999;
  const config_name = random.pick([undefined, ...configNames]);
  const environment_id = random.pick([undefined, ...environments]);
  const skill_spec = random.pick([undefined, ...skills]);
  const labels = random
    .some(Object.keys(metadataValues), 0.5)
    .map((key) => [key, random.pick(metadataValues[key] as string[])]);
  const pull_request_state = random.pick([undefined, ...pullRequestStates]);
  const artifact_types = random.some(["FILE", "PATCH"], 0.3);
  const error_code = random.pick([undefined, ...errorCodes]);
  return {
    run_id: random.uuid(),
    title: randomTitle(random),
    prompt: randomPrompt(random),
    state: random.pick(states),
    source: random.pick(sources),
    creator_uid: random.pick(team).uid,
    model_id: random.pick(models),
    ...(config_name ? { config_name } : {}),
    ...(environment_id ? { environment_id } : {}),
    ...(skill_spec ? { skill_spec } : {}),
    ...(labels.length > 0 ? { metadata: Object.fromEntries(labels) } : {}),
    artifact_types: [...artifact_types, ...(pull_request_state ? ["PULL_REQUEST"] : [])],
    ...(pull_request_state ? { pull_request_state } : {}),
    ...(error_code ? { error_code } : {}),
    // Few values, so that many runs share one, and some that have no exact decimal form.
    cost: random.below(6) / 3,
    duration: random.below(40) * 1.1,
    created_at: new Date(created).toISOString(),
    updated_at: new Date(created + random.below(20) * DAY).toISOString(),
  };
}

/** Writes what the API cannot create: every state, source and model, and times in the past. */
async function writeRuns(server: TestServer, team: Team, runs: SeededRun[]) {
  const rows = runs.map((run) => {
    const creator = team.find(({ uid }) => uid === run.creator_uid);
    const words = searchWords([run.title, run.prompt, run.skill_spec ?? ""].join("\n"));
    return { ...run, words, creator_type: creator?.type, key_id: creator?.key_id };
  });
  await server.db.begin(async (tx) => {
    await tx`
      insert into runs (
        run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
        config_name, model_id, environment_id, skill_spec, agent_config, metadata, trace_id)
      select run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
        config_name, model_id, environment_id, skill_spec, jsonb_build_object('model_id', model_id), metadata, 'seed'
      from jsonb_to_recordset(${tx.json(rows as Parameters<typeof tx.json>[0])}) as row (
        run_id uuid, title text, prompt text, state text, created_at timestamptz, updated_at timestamptz,
        source text, creator_type text, creator_uid uuid, key_id uuid, config_name text, model_id text,
        environment_id uuid, skill_spec text, metadata jsonb)`;
    await tx`
      insert into run_search (run_id, title, search, metadata)
      select run_id, title, array_to_tsvector(array(select jsonb_array_elements_text(words))), metadata
      from jsonb_to_recordset(${tx.json(rows as Parameters<typeof tx.json>[0])}) as row (
        run_id uuid, title text, metadata jsonb, words jsonb)`;
    await tx`
      insert into run_state (run_id, state, phase, owner_uid, key_id)
      select run_id, state, 'done', creator_uid, key_id from runs`;
    for (const run of runs) await writeArtifacts(tx, run);
    await tx`analyze runs, run_search, artifacts, pull_requests`;
  });
}

async function writeArtifacts(tx: Tx, run: SeededRun) {
  const { run_id, artifact_types, pull_request_state, updated_at, cost, duration, error_code } = run;
  for (const type of artifact_types.filter((each) => each !== "PULL_REQUEST")) {
    await tx`
      insert into artifacts (artifact_id, run_id, type, name, mime_type, size_bytes, sha256)
      values (gen_random_uuid(), ${run_id}, ${type}, 'a', 'text/plain', 1, 'seed')`;
  }
  const states = pull_request_state ? ["closed", pull_request_state] : [];
  for (const [index, state] of states.entries()) {
    const pullRequest = {
      ...{
        pull_request_id: randomUUID(),
        run_id,
        path: "api",
        forge_id: randomUUID(),
        repository: "acme/api",
      },
      ...{ number: index + 1, url: `https://git.test/${index}`, branch: "b", base: "main", title: "A" },
      ...{ state: state as PullRequestState, head_commit: "1", pushed_commit: "1" },
    };
    await putPullRequest(tx, pullRequest);
  }
  await tx`
    update runs set updated_at = ${updated_at}, cost_usd = ${cost}, run_seconds = ${duration},
      status_message = ${error_code ? tx.json({ message: "failed", error_code }) : null}
    where run_id = ${run_id}`;
}

const clients: Partial<Record<RunSourceType, string>> = { CLI: "cli/1.0", GITHUB_ACTION: "github-action" };

/** As much of the draft as a caller can ask for; the rest is what the service makes of it. */
async function createRun(server: TestServer, team: Team, draft: SeededRun): Promise<SeededRun> {
  const { title, prompt, metadata, config_name, environment_id, skill_spec } = draft;
  const key = team.find(({ uid }) => uid === draft.creator_uid)?.key as string;
  const client = clients[draft.source];
  const config = {
    ...(config_name ? { name: config_name } : {}),
    ...(environment_id ? { environment_id } : {}),
    ...(skill_spec ? { skill_spec } : {}),
  };
  const { body: made } = await server.call("POST", "/agent/run", {
    key,
    body: { title, prompt, config, ...(metadata ? { metadata } : {}) },
    ...(client ? { headers: { "x-outrider-client": client } } : {}),
  });
  const path = `/agent/runs/${made.run_id}`;
  const isCancelled = draft.state === "CANCELLED";
  if (isCancelled) await server.call("POST", `${path}/cancel`, { key });
  const { status, body, text } = await server.call("GET", path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
  const { created_at, updated_at } = body;
  const skillName = skill_spec?.endsWith("SKILL.md") ? "review" : skill_spec?.split(":")[1];
  const label = config_name ?? skillName;
  const { config_name: _, pull_request_state: __, error_code: ___, ...rest } = draft;
  return {
    ...rest,
    cost: 0,
    duration: 0,
    artifact_types: [],
    run_id: made.run_id,
    state: isCancelled ? "CANCELLED" : "QUEUED",
    source: client ? draft.source : "API",
    model_id: "scripted",
    ...(label ? { config_name: label } : {}),
    created_at,
    updated_at,
  };
}
