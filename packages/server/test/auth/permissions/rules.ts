import { createHash, randomUUID } from "node:crypto";
import type { Scope } from "@outrider/contract/auth/key";
import type { OperationId } from "@outrider/contract/routes";
import { zeroUsage } from "@outrider/contract/run";
import type { WorkerOperationId } from "@outrider/contract/worker-route";
import type { Fixture } from "./fixture.ts";

/** A request: the values of the path's parameters, the query and the body. */
export interface Request {
  params?: Record<string, string>;
  query?: string;
  body?: unknown;
}

/**
 * Creates a request that succeeds if the caller is allowed to send it. `isFresh` is true if it will succeed; a request
 * that consumes what it names then gets its own.
 */
type CreateRequest = (fixture: Fixture, isFresh: boolean) => Request | Promise<Request>;

/** What a caller needs apart from the scope in the route table. */
export interface Rule {
  request: CreateRequest;
  /**
   * - `sees run`: sees the run. Agent keys see only their own runs; to others it does not exist.
   * - `steers run`: also is its creator, the owner of the cloud agent that created it, or an admin.
   * - `decides`: also is not a cloud agent.
   * - `owns agent`: is a user who owns the cloud agent, or an admin.
   * - `owns key`: is a user who owns the key, or an admin. To others it does not exist.
   * - `owns shared`: is the user who owns the shared view or template, or an admin.
   * - `is user`: is not a cloud agent.
   */
  access?: "sees run" | "steers run" | "decides" | "owns agent" | "owns key" | "owns shared" | "is user";
  /**
   * What happens if the key is limited to environments:
   * - `hidden`: what is in other environments does not exist.
   * - `named`: the request must not name another environment.
   * - `managed`: the key is refused, even for its own environments.
   */
  environment?: "hidden" | "named" | "managed";
  /** The operation creates a credential without limits, so a key with limits is refused. */
  createsCredential?: true;
  alsoNeeds?: Scope;
}

const nothing: CreateRequest = () => ({});
const ofRun: CreateRequest = ({ run }) => ({ params: { runId: run } });
const ofArtifact: CreateRequest = ({ artifact }) => ({ params: { artifactId: artifact } });
const ofEnvironment: CreateRequest = ({ environment }) => ({ params: { environmentId: environment.home } });
const ofBuild: CreateRequest = ({ environment, build }) => ({
  params: { environmentId: environment.home, buildId: build.build_id },
});
const ofForge: CreateRequest = ({ forge }) => ({ params: { forgeId: forge.forge_id } });
const ofProvider: CreateRequest = ({ provider }) => ({ params: { providerName: provider } });
const ofAgent: CreateRequest = ({ agent }) => ({ params: { uid: agent } });
const newRun: CreateRequest = ({ environment }) => ({
  body: { prompt: "SAY: hi", config: { environment_id: environment.home } },
});
const newTemplate: CreateRequest = ({ environment }) => ({
  body: { name: randomUUID(), prompt: "SAY: hi", config: { environment_id: environment.home } },
});
const ofShell = async ({ environment, shell }: Fixture) => ({
  params: { environmentId: environment.home, shellId: shell },
});
const followupOf = async (fixture: Fixture, isFresh: boolean) => ({
  runId: fixture.run,
  followupId: isFresh ? await fixture.newFollowup() : fixture.followup,
});

const publicationOf = async ({ publication, newPublication }: Fixture, isFresh: boolean) =>
  isFresh ? newPublication() : publication;

/** The rule of every operation in the route table. A new operation without a rule fails the test. */
export const rules: Record<OperationId, Rule> = {
  createRun: { request: newRun, environment: "named" },
  createRunAlias: { request: newRun, environment: "named" },
  listRuns: { request: nothing },
  getRun: { request: ofRun, access: "sees run", environment: "hidden" },
  deleteRun: {
    request: async (fixture, isFresh) => ({
      params: { runId: isFresh ? await fixture.newEndedRun() : fixture.run },
    }),
    access: "steers run",
    environment: "hidden",
  },
  cancelRun: {
    request: async (fixture, isFresh) => ({
      params: { runId: isFresh ? await fixture.newRun() : fixture.run },
    }),
    access: "steers run",
    environment: "hidden",
  },

  listAttention: { request: nothing },
  dismissAttention: { request: () => ({ body: { creator: "me" } }) },
  putAttention: {
    request: ({ run }) => ({ params: { runId: run }, body: {} }),
    access: "sees run",
    environment: "hidden",
  },
  deleteAttention: { request: ofRun, access: "sees run", environment: "hidden" },
  listViews: { request: nothing },
  createView: { request: () => ({ body: { name: "new" } }), access: "is user" },
  updateView: {
    request: ({ view }) => ({ params: { viewId: view }, body: { name: "changed" } }),
    access: "owns shared",
  },
  deleteView: {
    request: async (fixture, isFresh) => ({
      params: { viewId: isFresh ? await fixture.newView() : fixture.view },
    }),
    access: "owns shared",
  },
  listTemplates: { request: nothing },
  createTemplate: { request: newTemplate, access: "is user", environment: "named" },
  getTemplate: {
    request: ({ template }) => ({ params: { templateId: template } }),
    environment: "hidden",
  },
  replaceTemplate: {
    request: ({ template, environment }) => ({
      params: { templateId: template },
      body: { name: "fixture", prompt: "SAY: hi", config: { environment_id: environment.home } },
    }),
    access: "owns shared",
    environment: "hidden",
  },
  deleteTemplate: {
    request: async (fixture, isFresh) => ({
      params: { templateId: isFresh ? await fixture.newTemplate() : fixture.template },
    }),
    access: "owns shared",
    environment: "hidden",
  },

  createShell: {
    request: ({ environment }) => ({ params: { environmentId: environment.home }, body: {} }),
    environment: "managed",
  },
  getShell: { request: ofShell, environment: "managed" },
  listShellEvents: { request: ofShell, environment: "managed" },
  sendShellInput: {
    request: async (fixture) => ({ ...(await ofShell(fixture)), body: { received: 0 } }),
    environment: "managed",
  },
  deleteShell: {
    request: async (fixture, isFresh) => ({
      params: {
        environmentId: fixture.environment.home,
        shellId: isFresh ? await fixture.newShell() : fixture.shell,
      },
    }),
    environment: "managed",
  },

  createFollowup: {
    request: ({ run }) => ({ params: { runId: run }, body: { message: "more", mode: "queue" } }),
    access: "steers run",
    environment: "hidden",
  },
  listFollowups: { request: ofRun, access: "sees run", environment: "hidden" },
  updateFollowup: {
    request: async (fixture, isFresh) => ({
      params: await followupOf(fixture, isFresh),
      body: { message: "changed" },
    }),
    access: "steers run",
    environment: "hidden",
  },
  deleteFollowup: {
    request: async (fixture, isFresh) => ({ params: await followupOf(fixture, isFresh) }),
    access: "steers run",
    environment: "hidden",
  },

  listEvents: { request: ofRun, access: "sees run", environment: "hidden" },
  getTranscript: { request: ofRun, access: "sees run", environment: "hidden" },
  getArtifact: { request: ofArtifact, access: "sees run", environment: "hidden" },
  getArtifactContent: { request: ofArtifact, access: "sees run", environment: "hidden" },
  getDiff: { request: ofRun, access: "sees run", environment: "hidden" },
  listRunFiles: { request: ofRun, access: "sees run", environment: "hidden" },
  readRunFile: {
    request: ({ run }) => ({ params: { runId: run }, query: "path=notes.txt" }),
    access: "sees run",
    environment: "hidden",
  },
  createPublication: {
    request: async (fixture, isFresh) => {
      const { runId } = await publicationOf(fixture, isFresh);
      return { params: { runId }, body: { kind: "branch" } };
    },
    access: "steers run",
    environment: "hidden",
  },
  listPublications: { request: ofRun, access: "sees run", environment: "hidden" },
  getPublication: {
    request: async (fixture) => ({ params: await publicationOf(fixture, false) }),
    access: "sees run",
    environment: "hidden",
  },
  approvePublication: {
    request: async (fixture, isFresh) => ({ params: await publicationOf(fixture, isFresh), body: {} }),
    access: "decides",
    environment: "hidden",
  },
  rejectPublication: {
    request: async (fixture, isFresh) => ({ params: await publicationOf(fixture, isFresh), body: {} }),
    access: "decides",
    environment: "hidden",
  },
  getCommits: { request: ofRun, access: "sees run", environment: "hidden" },
  createShare: {
    request: ({ run }) => ({ params: { runId: run }, body: {} }),
    access: "steers run",
    environment: "hidden",
    alsoNeeds: "runs:read",
  },
  deleteShare: { request: ofRun, access: "steers run", environment: "hidden" },

  listEnvironments: { request: nothing },
  createEnvironment: { request: () => ({ body: { name: "new" } }), environment: "managed" },
  getEnvironment: { request: ofEnvironment, environment: "hidden" },
  replaceEnvironment: {
    request: async (fixture, isFresh) => ({
      params: { environmentId: isFresh ? await fixture.newEnvironment() : fixture.environment.home },
      body: { name: "replaced" },
    }),
    environment: "managed",
  },
  deleteEnvironment: {
    request: async (fixture, isFresh) => ({
      params: { environmentId: isFresh ? await fixture.newEnvironment() : fixture.environment.home },
    }),
    environment: "managed",
  },
  listBuilds: { request: ofEnvironment, environment: "hidden" },
  createBuild: { request: ofEnvironment, environment: "hidden" },
  getBuild: { request: ofBuild, environment: "hidden" },
  listBuildEvents: { request: ofBuild, environment: "hidden" },
  createProposal: {
    request: () => ({ body: { repository: { owner: "acme", repo: "api" } } }),
    environment: "managed",
  },
  getProposal: { request: ({ proposal }) => ({ params: { proposalId: proposal } }), environment: "managed" },
  listSecrets: { request: nothing, environment: "managed" },
  putSecret: {
    request: ({ secret }) => ({ params: { name: secret }, body: { value: "long enough" } }),
    environment: "managed",
  },
  deleteSecret: {
    request: async (fixture, isFresh) => ({
      params: { name: isFresh ? await fixture.newSecret() : fixture.secret },
    }),
    environment: "managed",
  },
  listForges: { request: nothing },
  getForge: { request: ofForge },
  createForge: {
    request: ({ github: { url, token } }) => ({ body: { type: "github", url, token } }),
    environment: "managed",
  },
  deleteForge: {
    request: async (fixture, isFresh) => ({
      params: { forgeId: isFresh ? await fixture.newForge() : fixture.forge.forge_id },
    }),
    environment: "managed",
  },
  listForgeRepositories: { request: ofForge, environment: "managed" },
  testForge: {
    request: ({ forge: { forge_id } }) => ({
      params: { forgeId: forge_id },
      body: { repository: "acme/api" },
    }),
    environment: "managed",
  },
  createAppManifest: { request: () => ({ body: {} }), environment: "managed" },
  completeAppManifest: {
    request: async ({ newManifest }) => {
      const { manifestId, ...body } = await newManifest();
      return { params: { manifestId }, body };
    },
    environment: "managed",
  },
  listSkills: { request: nothing },
  listAgents: { request: nothing },
  listModels: { request: nothing },
  listModelProviders: { request: nothing },
  getModelProvider: { request: ofProvider },
  putModelProvider: {
    request: ({ provider }) => ({
      params: { providerName: provider },
      body: { type: "openai-compatible", base_url: "http://127.0.0.1:9/v1" },
    }),
    environment: "managed",
  },
  deleteModelProvider: {
    request: async (fixture, isFresh) => ({
      params: { providerName: isFresh ? await fixture.newProvider() : fixture.provider },
    }),
    environment: "managed",
  },
  testModelProvider: {
    request: ({ provider }) => ({ params: { providerName: provider }, body: { model: "tiny" } }),
    environment: "managed",
  },
  getModelSettings: { request: nothing },
  setModelSettings: { request: () => ({ body: { aliases: {} } }), environment: "managed" },
  listHarnesses: { request: nothing },

  listIdentities: { request: nothing },
  createIdentity: {
    request: ({ environment }) => ({ body: { name: "new", environment_id: environment.home } }),
    access: "is user",
    environment: "named",
  },
  getIdentity: { request: ofAgent },
  replaceIdentity: {
    request: ({ agent, environment }) => ({
      params: { uid: agent },
      body: { name: "replaced", environment_id: environment.home },
    }),
    access: "owns agent",
    environment: "named",
  },
  deleteIdentity: {
    request: async (fixture, isFresh) => ({
      params: { uid: isFresh ? await fixture.newAgent() : fixture.agent },
    }),
    access: "owns agent",
  },

  listKeys: { request: nothing, access: "is user" },
  createKey: {
    request: () => ({ body: { name: "new", type: "personal" } }),
    access: "is user",
    createsCredential: true,
  },
  deleteKey: {
    request: async (fixture, isFresh) => ({
      params: { keyId: isFresh ? (await fixture.newKey({}, fixture.keys.member)).key_id : fixture.key },
    }),
    access: "owns key",
  },

  getMe: { request: nothing },
  listUsers: { request: nothing },
  inviteUser: {
    request: () => ({ body: { email: `${randomUUID()}@example.com`, display_name: "New" } }),
    createsCredential: true,
  },
  updateUser: { request: ({ user }) => ({ params: { userUid: user }, body: { display_name: "Changed" } }) },
  deleteUser: {
    request: async (fixture, isFresh) => ({
      params: { userUid: isFresh ? await fixture.newUser() : fixture.user },
    }),
  },
  createSignInLink: { request: ({ user }) => ({ params: { userUid: user } }), createsCredential: true },

  listWorkers: { request: nothing },
  getWorkerDemand: { request: nothing },
  getUsage: {
    request: ({ environment }) => ({ query: `environment_id=${environment.home}` }),
    access: "is user",
    environment: "named",
  },
  getUsageLoad: { request: nothing },
  drainWorker: { request: ({ spareWorker }) => ({ params: { workerId: spareWorker } }) },
  getInstallation: { request: nothing },
  getMaintenance: { request: nothing },
  setMaintenance: { request: () => ({ body: {} }) },
  cancelRuns: { request: () => ({ body: { dry_run: true } }) },
};

/** What another worker key gets: nothing of the execution or build exists for it, and it cannot be the worker. */
export interface WorkerRule {
  request: CreateRequest;
  otherKey: 403 | 404 | "success";
}

const ofExecution = async (fixture: Fixture, isFresh: boolean) => {
  const own = isFresh ? await fixture.newExecution() : fixture;
  return { run_id: own.run, params: { executionId: own.execution } };
};
const inExecution =
  (more: object): CreateRequest =>
  async (fixture, isFresh) => {
    const { run_id, params } = await ofExecution(fixture, isFresh);
    return { params, body: { run_id, ...more } };
  };
const reservation = { reservation_id: randomUUID(), cost_usd: 0 };
const batch = { batch: 1, events: [] };
const failed = { type: "failed", error_code: "timeout", message: "late" };
const failedPush = { ...failed, is_retryable: false };
const key = createHash("sha256").update("build").digest("hex");

export const workerRules: Record<WorkerOperationId, WorkerRule> = {
  claim: {
    request: ({ worker }) => ({ body: { request_id: randomUUID(), worker, free: 0, wait_ms: 0 } }),
    otherKey: 403,
  },
  identifyInstallation: { request: () => ({}), otherKey: "success" },
  heartbeat: { request: ({ worker }) => ({ body: { worker, executions: [] } }), otherKey: 403 },
  signals: { request: ({ worker }) => ({ query: `worker_id=${worker.worker_id}` }), otherKey: 403 },
  history: { request: ({ execution }) => ({ params: { executionId: execution } }), otherKey: 404 },
  attachment: {
    request: ({ execution, attachment }) => ({
      params: { executionId: execution, attachmentId: attachment },
    }),
    otherKey: 404,
  },
  artifact: {
    request: ({ execution, artifact }) => ({ params: { executionId: execution, artifactId: artifact } }),
    otherKey: 404,
  },
  prepare: {
    request: ({ run, execution, worker }) => ({
      params: { executionId: execution },
      body: { run_id: run, worker_id: worker.worker_id, key, repositories: [] },
    }),
    otherKey: 403,
  },
  reportBuild: {
    request: ({ build }) => ({ params: { buildId: build.build_id }, body: { token: build.token, ...batch } }),
    otherKey: 404,
  },
  recordChunks: {
    request: ({ build }) => ({
      params: { buildId: build.build_id },
      body: { token: build.token, chunks: ["a".repeat(64)] },
    }),
    otherKey: 404,
  },
  finishBuild: {
    request: ({ build }) => ({
      params: { buildId: build.build_id },
      body: { token: build.token, ...batch, outcome: failed },
    }),
    otherKey: 404,
  },
  takeProposal: {
    request: ({ worker, proposal }) => ({
      params: { proposalId: proposal },
      body: { worker_id: worker.worker_id },
    }),
    otherKey: 403,
  },
  finishProposal: {
    request: ({ worker, proposal }) => ({
      params: { proposalId: proposal },
      body: { worker_id: worker.worker_id, outcome: failed },
    }),
    otherKey: 403,
  },
  takeFileRequest: {
    request: ({ worker, fileRequest }) => ({
      params: { requestId: fileRequest },
      body: { worker_id: worker.worker_id, source: "sandbox" },
    }),
    otherKey: 403,
  },
  finishFileRequest: {
    request: ({ worker, fileRequest }) => ({
      params: { requestId: fileRequest },
      body: { worker_id: worker.worker_id, outcome: { type: "failed", reason: "not_found" } },
    }),
    otherKey: 403,
  },
  publish: {
    request: inExecution({ request_id: randomUUID(), trigger: "agent", commits: [] }),
    otherKey: 404,
  },
  listRequested: { request: inExecution({ publication_ids: [] }), otherKey: 404 },
  takePublication: {
    request: async ({ worker, publication, newQueuedPublication }, isFresh) => ({
      params: { publicationId: isFresh ? await newQueuedPublication() : publication.publicationId },
      body: { worker_id: worker.worker_id },
    }),
    otherKey: 403,
  },
  finishPublication: {
    request: async ({ worker, publication, newTakenPublication }, isFresh) => {
      const taken = isFresh
        ? await newTakenPublication()
        : { publication_id: publication.publicationId, token: randomUUID() };
      return {
        params: { publicationId: taken.publication_id },
        body: { worker_id: worker.worker_id, token: taken.token, outcome: failedPush },
      };
    },
    otherKey: 403,
  },
  repositoryCredential: {
    request: ({ worker, forge: { forge_id, url, proposal } }) => ({
      body: {
        worker_id: worker.worker_id,
        forge_id,
        url,
        holder: { type: "proposal", proposal_id: proposal },
      },
    }),
    otherKey: 403,
  },
  reportShell: {
    request: ({ heldShell: { shell_id, token } }) => ({
      params: { shellId: shell_id },
      body: { token, ...batch },
    }),
    otherKey: 404,
  },
  shellInput: {
    request: ({ heldShell: { shell_id, token } }) => ({
      params: { shellId: shell_id },
      body: { token, after: 0, received: 0, wait_ms: 0 },
    }),
    otherKey: 404,
  },
  finishShell: {
    request: ({ heldShell: { shell_id, token } }) => ({
      params: { shellId: shell_id },
      body: { token, ...batch, exit_code: 0 },
    }),
    otherKey: 404,
  },
  reserve: { request: inExecution({ ...reservation, usd: 1 }), otherKey: 404 },
  settle: { request: inExecution(reservation), otherKey: 404 },
  report: { request: inExecution({ ...batch, deliver: false }), otherKey: 404 },
  delta: { request: inExecution({ text: "partial" }), otherKey: 404 },
  finish: {
    request: inExecution({ ...batch, usage: zeroUsage, outcome: { type: "succeeded", text: "done" } }),
    otherKey: 404,
  },
  finishAll: {
    request: async (fixture, isFresh) => {
      const { run_id, params } = await ofExecution(fixture, isFresh);
      const end = { ...batch, usage: zeroUsage, outcome: { type: "succeeded", text: "done" } };
      return { body: { finishes: [{ execution_id: params.executionId, run_id, ...end }] } };
    },
    otherKey: 404,
  },
  close: { request: inExecution({}), otherKey: 404 },
  release: { request: inExecution({}), otherKey: 404 },
  interrupt: { request: inExecution({ suspicion: "none" }), otherKey: 404 },
};
