import { z } from "zod";
import { Artifact } from "./artifact.ts";
import { Build, ListBuildEventsResponse, ListBuildsResponse } from "./build.ts";
import { CloudEnvironment, EnvironmentRequest, ListEnvironmentsResponse } from "./environment.ts";
import type { ErrorCode } from "./error.ts";
import { ListEventsResponse } from "./event.ts";
import {
  Followup,
  ListFollowupsResponse,
  RunFollowupRequest,
  RunFollowupResponse,
  UpdateFollowupRequest,
} from "./followup.ts";
import { Identity, IdentityRequest, ListIdentitiesResponse } from "./identity.ts";
import { CreateKeyRequest, CreateKeyResponse, ListKeysResponse, type Scope } from "./key.ts";
import { ListModelsResponse } from "./model.ts";
import { Me } from "./person.ts";
import { ListEventsQuery, ListRunsQuery } from "./query.ts";
import { CancelRunResponse, ListRunsResponse, RunAgentRequest, RunAgentResponse, RunItem } from "./run.ts";
import { ListSecretsResponse, PutSecretRequest, Secret, SecretName } from "./secret.ts";
import { ShareRequest, ShareResponse } from "./share.ts";
import { ListSkillsResponse } from "./skill.ts";
import { Uuid } from "./text.ts";
import { ListWorkersResponse, Worker } from "./worker.ts";

export interface Answer {
  description: string;
  schema?: z.ZodType;
  /** The call can also stream; a resumable stream goes on behind `Last-Event-ID`. */
  stream?: true | "resumable";
  /** What the call answers with instead of JSON, by `Accept`; the first where nothing is asked for. */
  media?: readonly string[];
  headers?: Record<string, string>;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the key needs; finer rights are the engine's. */
  scope: Scope;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Such a body may be as large as `limits.bodyWithAttachments`. */
  attachments?: true;
  answers: Record<number, Answer>;
  /** Errors of this call alone, besides those that every call can answer with. */
  errors: readonly ErrorCode[];
  /** The operation that this one is another address of. */
  aliasOf?: string;
}

const route = <const R extends Route>(definition: R) => definition;

const runId = z.object({ runId: Uuid });
const followupId = z.object({ runId: Uuid, followupId: Uuid });
const artifactId = z.object({ artifactId: Uuid });
const environmentId = z.object({ environmentId: Uuid });
const buildId = z.object({ environmentId: Uuid, buildId: Uuid });
const uid = z.object({ uid: Uuid });
const gone = { 204: { description: "It is gone." } };

const createRun = route({
  method: "POST",
  path: "/agent/run",
  tag: "Runs",
  summary: "Create a run",
  description:
    "Answers at once; the agent starts afterwards. Send an `Idempotency-Key` so that a retry starts no second agent.",
  scope: "runs:write",
  body: RunAgentRequest,
  attachments: true,
  answers: {
    200: {
      description: "The run is queued.",
      schema: RunAgentResponse,
      headers: { Location: "The address of the run." },
    },
  },
  errors: ["model_not_available"],
});

/** The one table of calls. The server's handlers, `openapi.json` and the clients follow it. */
export const routes = {
  createRun,
  createRunAlias: route({
    ...createRun,
    path: "/agent/runs",
    summary: "Create a run (the same as POST /agent/run)",
    aliasOf: "createRun",
  }),
  listRuns: route({
    method: "GET",
    path: "/agent/runs",
    tag: "Runs",
    summary: "List runs",
    description:
      'Filters are ANDed; each may be repeated for "any of". Pages are stable: nothing is skipped or repeated while others are created. With `Accept: text/event-stream`: hints `{run_id, state, updated_at}` of changes under the same filters, from now on.',
    scope: "runs:read",
    query: ListRunsQuery,
    answers: {
      200: { description: "A page of runs, recent ones first.", schema: ListRunsResponse, stream: true },
    },
    errors: [],
  }),
  getRun: route({
    method: "GET",
    path: "/agent/runs/{runId}",
    tag: "Runs",
    summary: "Get a run",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "The whole run.", schema: RunItem } },
    errors: [],
  }),
  deleteRun: route({
    method: "DELETE",
    path: "/agent/runs/{runId}",
    tag: "Runs",
    summary: "Delete a finished run with everything of it",
    scope: "runs:write",
    params: runId,
    answers: gone,
    errors: ["conflict"],
  }),
  cancelRun: route({
    method: "POST",
    path: "/agent/runs/{runId}/cancel",
    tag: "Runs",
    summary: "Cancel a run",
    description:
      "In every state that is not final. A second cancel answers the same; on SUCCEEDED or FAILED it is a conflict.",
    scope: "runs:write",
    params: runId,
    answers: { 200: { description: "The run is cancelled.", schema: CancelRunResponse } },
    errors: ["conflict"],
  }),
  createFollowup: route({
    method: "POST",
    path: "/agent/runs/{runId}/followups",
    tag: "Follow-ups",
    summary: "Send a follow-up",
    description:
      "Steers a run at work, joins the prompt of a waiting one, continues a finished or blocked one.",
    scope: "runs:write",
    params: runId,
    body: RunFollowupRequest,
    attachments: true,
    answers: { 200: { description: "The message is stored.", schema: RunFollowupResponse } },
    errors: ["conflict"],
  }),
  listFollowups: route({
    method: "GET",
    path: "/agent/runs/{runId}/followups",
    tag: "Follow-ups",
    summary: "List follow-ups",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "In the order in which they were sent.", schema: ListFollowupsResponse } },
    errors: [],
  }),
  updateFollowup: route({
    method: "PATCH",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Change a follow-up that is still queued",
    scope: "runs:write",
    params: followupId,
    body: UpdateFollowupRequest,
    answers: { 200: { description: "As it is now.", schema: Followup } },
    errors: ["conflict"],
  }),
  deleteFollowup: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/followups/{followupId}",
    tag: "Follow-ups",
    summary: "Withdraw a follow-up that is still queued",
    scope: "runs:write",
    params: followupId,
    answers: { 204: { description: "It is withdrawn." } },
    errors: ["conflict"],
  }),
  listEvents: route({
    method: "GET",
    path: "/agent/runs/{runId}/events",
    tag: "Events",
    summary: "Read or stream a run's events",
    description:
      "With `Accept: text/event-stream`: `id:` is the event's `seq`, a stream resumes after `Last-Event-ID` (which wins over `after`) and ends when the run is final and everything was sent.",
    scope: "runs:read",
    params: runId,
    query: ListEventsQuery,
    answers: {
      200: { description: "Events in order.", schema: ListEventsResponse, stream: "resumable" },
      204: { description: "Stream only: the run is final and the client has everything." },
    },
    errors: [],
  }),
  getArtifact: route({
    method: "GET",
    path: "/agent/artifacts/{artifactId}",
    tag: "Artifacts",
    summary: "Get an artifact",
    scope: "runs:read",
    params: artifactId,
    answers: { 200: { description: "What it is.", schema: Artifact } },
    errors: [],
  }),
  getArtifactContent: route({
    method: "GET",
    path: "/agent/artifacts/{artifactId}/content",
    tag: "Artifacts",
    summary: "Download an artifact",
    scope: "runs:read",
    params: artifactId,
    answers: { 200: { description: "Its bytes, as a download.", media: ["application/octet-stream"] } },
    errors: [],
  }),
  listEnvironments: route({
    method: "GET",
    path: "/agent/environments",
    tag: "Environments",
    summary: "List environments",
    scope: "runs:read",
    answers: { 200: { description: "All environments, by name.", schema: ListEnvironmentsResponse } },
    errors: [],
  }),
  createEnvironment: route({
    method: "POST",
    path: "/agent/environments",
    tag: "Environments",
    summary: "Create an environment",
    scope: "admin",
    body: EnvironmentRequest,
    answers: { 201: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  getEnvironment: route({
    method: "GET",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Get an environment",
    scope: "runs:read",
    params: environmentId,
    answers: { 200: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  replaceEnvironment: route({
    method: "PUT",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Replace an environment's configuration",
    scope: "admin",
    params: environmentId,
    body: EnvironmentRequest,
    answers: { 200: { description: "The environment, one version on.", schema: CloudEnvironment } },
    errors: [],
  }),
  deleteEnvironment: route({
    method: "DELETE",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Delete an environment",
    scope: "admin",
    params: environmentId,
    answers: gone,
    errors: [],
  }),
  listBuilds: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds",
    tag: "Environments",
    summary: "List an environment's latest builds",
    scope: "runs:read",
    params: environmentId,
    answers: { 200: { description: "The latest hundred, newest first.", schema: ListBuildsResponse } },
    errors: [],
  }),
  createBuild: route({
    method: "POST",
    path: "/agent/environments/{environmentId}/builds",
    tag: "Environments",
    summary: "Build an environment anew",
    description:
      "Runs build what they need by themselves. This prepares it ahead, or runs setup commands again whose outcome has changed.",
    scope: "runs:write",
    params: environmentId,
    answers: { 201: { description: "The build is queued.", schema: Build } },
    errors: ["conflict"],
  }),
  getBuild: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}",
    tag: "Environments",
    summary: "Get a build",
    scope: "runs:read",
    params: buildId,
    answers: { 200: { description: "The build.", schema: Build } },
    errors: [],
  }),
  listBuildEvents: route({
    method: "GET",
    path: "/agent/environments/{environmentId}/builds/{buildId}/events",
    tag: "Environments",
    summary: "Read or stream a build's log",
    description:
      "With `Accept: text/event-stream`: `id:` is the event's `seq`, a stream resumes after `Last-Event-ID` and ends when the build is finished and everything was sent.",
    scope: "runs:read",
    params: buildId,
    query: ListEventsQuery,
    answers: {
      200: { description: "Events in order.", schema: ListBuildEventsResponse, stream: "resumable" },
      204: { description: "Stream only: the build is finished and the client has everything." },
    },
    errors: [],
  }),
  listSecrets: route({
    method: "GET",
    path: "/agent/secrets",
    tag: "Secrets",
    summary: "List the names of secrets",
    scope: "admin",
    answers: { 200: { description: "Names only; values never come out.", schema: ListSecretsResponse } },
    errors: [],
  }),
  putSecret: route({
    method: "PUT",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Store or replace a secret",
    scope: "admin",
    params: z.object({ name: SecretName }),
    body: PutSecretRequest,
    answers: { 200: { description: "The secret is stored.", schema: Secret } },
    errors: [],
  }),
  deleteSecret: route({
    method: "DELETE",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Delete a secret that no environment uses",
    scope: "admin",
    params: z.object({ name: SecretName }),
    answers: gone,
    errors: ["conflict"],
  }),
  listModels: route({
    method: "GET",
    path: "/agent/models",
    tag: "Models",
    summary: "List models",
    scope: "runs:read",
    answers: { 200: { description: "What `model_id` may name.", schema: ListModelsResponse } },
    errors: [],
  }),
  listSkills: route({
    method: "GET",
    path: "/agent/skills",
    tag: "Skills",
    summary: "List skills",
    description:
      "What the builds of environments have found in their repositories, by name. A run may also use a skill that is not listed: any that `skill_spec` can name.",
    scope: "runs:read",
    answers: { 200: { description: "Skills of all environments.", schema: ListSkillsResponse } },
    errors: [],
  }),
  listIdentities: route({
    method: "GET",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "List cloud agents",
    scope: "runs:read",
    answers: { 200: { description: "All cloud agents, by name.", schema: ListIdentitiesResponse } },
    errors: [],
  }),
  createIdentity: route({
    method: "POST",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "Create a cloud agent",
    scope: "runs:write",
    body: IdentityRequest,
    answers: { 201: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  getIdentity: route({
    method: "GET",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Get a cloud agent",
    scope: "runs:read",
    params: uid,
    answers: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: [],
  }),
  replaceIdentity: route({
    method: "PUT",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Replace a cloud agent's description",
    scope: "runs:write",
    params: uid,
    body: IdentityRequest,
    answers: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  deleteIdentity: route({
    method: "DELETE",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Delete a cloud agent and revoke its keys",
    scope: "runs:write",
    params: uid,
    answers: gone,
    errors: [],
  }),
  listKeys: route({
    method: "GET",
    path: "/keys",
    tag: "Keys",
    summary: "List keys",
    description: "Your own and your cloud agents'; an admin sees all. Raw keys never come out.",
    scope: "runs:read",
    answers: { 200: { description: "Keys that are not revoked.", schema: ListKeysResponse } },
    errors: [],
  }),
  createKey: route({
    method: "POST",
    path: "/keys",
    tag: "Keys",
    summary: "Create a key",
    scope: "runs:write",
    body: CreateKeyRequest,
    answers: { 201: { description: "The key, with its raw value this once.", schema: CreateKeyResponse } },
    errors: [],
  }),
  deleteKey: route({
    method: "DELETE",
    path: "/keys/{keyId}",
    tag: "Keys",
    summary: "Revoke a key at once",
    scope: "runs:write",
    params: z.object({ keyId: Uuid }),
    answers: { 204: { description: "It is revoked." } },
    errors: [],
  }),
  listWorkers: route({
    method: "GET",
    path: "/workers",
    tag: "Workers",
    summary: "List workers",
    scope: "admin",
    answers: { 200: { description: "Those that live first.", schema: ListWorkersResponse } },
    errors: [],
  }),
  drainWorker: route({
    method: "POST",
    path: "/workers/{workerId}/drain",
    tag: "Workers",
    summary: "Let a worker finish or hand back what it has, and take nothing new",
    scope: "admin",
    params: z.object({ workerId: Uuid }),
    answers: { 200: { description: "The worker.", schema: Worker } },
    errors: [],
  }),
  getTranscript: route({
    method: "GET",
    path: "/agent/runs/{runId}/transcript",
    tag: "Events",
    summary: "Read a run's transcript",
    description: "As Markdown, as one JSON document, or with one event a line, by `Accept`.",
    scope: "runs:read",
    params: runId,
    answers: {
      200: {
        description: "The whole transcript so far.",
        media: ["text/markdown", "application/json", "application/x-ndjson"],
      },
    },
    errors: [],
  }),
  getDiff: route({
    method: "GET",
    path: "/agent/runs/{runId}/diff",
    tag: "Artifacts",
    summary: "Read what a run has changed",
    description:
      "One unified patch against the commits it started from, as `git apply` takes it. Stored when a turn ends, and from time to time before; empty where nothing has changed.",
    scope: "runs:read",
    params: runId,
    answers: { 200: { description: "The patch.", media: ["text/x-diff"] } },
    errors: [],
  }),
  createShare: route({
    method: "POST",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "Make a link by which anybody can read a run",
    description:
      "For who may steer the run, with a key that may also read it. A run has one link: a new one replaces the one before, which ends at once. The link answers the transcript without a key, and nothing else of the installation.",
    scope: "runs:write",
    params: runId,
    body: ShareRequest,
    answers: { 201: { description: "The link, this once: we keep a hash.", schema: ShareResponse } },
    errors: [],
  }),
  deleteShare: route({
    method: "DELETE",
    path: "/agent/runs/{runId}/share",
    tag: "Sharing",
    summary: "End a run's share link at once",
    description: "Answers the same where the run has none.",
    scope: "runs:write",
    params: runId,
    answers: { 204: { description: "No link opens the run." } },
    errors: [],
  }),
  getMe: route({
    method: "GET",
    path: "/me",
    tag: "Keys",
    summary: "Who the key speaks for",
    scope: "runs:read",
    answers: { 200: { description: "Owner, role and scopes.", schema: Me } },
    errors: [],
  }),
};

export type Routes = typeof routes;
export type OperationId = keyof Routes;

export const operations = Object.entries(routes) as [OperationId, Route][];
