/**
 * The resource and method of each operation of openapi.json in the clients, spelled as in Python. TypeScript uses
 * `createAndWait` for `create_and_wait`. All clients share this table, so that they have the same methods.
 */
export const operations: Record<string, string> = {
  createRun: "runs.create",
  createRunAlias: "runs.create",
  listRuns: "runs.list",
  getRun: "runs.get",
  deleteRun: "runs.delete",
  cancelRun: "runs.cancel",
  createShare: "runs.share",
  deleteShare: "runs.unshare",
  getTranscript: "runs.transcript",
  getDiff: "runs.diff",
  createFollowup: "followups.create",
  listFollowups: "followups.list",
  updateFollowup: "followups.update",
  deleteFollowup: "followups.delete",
  listEvents: "events.list",
  getArtifact: "artifacts.get",
  getArtifactContent: "artifacts.content",
  listEnvironments: "environments.list",
  createEnvironment: "environments.create",
  getEnvironment: "environments.get",
  replaceEnvironment: "environments.replace",
  deleteEnvironment: "environments.delete",
  listBuilds: "builds.list",
  createBuild: "builds.create",
  getBuild: "builds.get",
  listBuildEvents: "builds.events",
  createProposal: "proposals.create",
  getProposal: "proposals.get",
  listSecrets: "secrets.list",
  putSecret: "secrets.put",
  deleteSecret: "secrets.delete",
  listModels: "models.list",
  listSkills: "skills.list",
  listAgents: "agents.list",
  listIdentities: "identities.list",
  createIdentity: "identities.create",
  getIdentity: "identities.get",
  replaceIdentity: "identities.replace",
  deleteIdentity: "identities.delete",
  listKeys: "keys.list",
  createKey: "keys.create",
  deleteKey: "keys.delete",
  listWorkers: "workers.list",
  drainWorker: "workers.drain",
  getMe: "me.get",
  listUsers: "users.list",
  inviteUser: "users.invite",
  updateUser: "users.update",
  deleteUser: "users.delete",
  createSignInLink: "users.link",
  getInstallation: "installation.get",
  getMaintenance: "maintenance.get",
  setMaintenance: "maintenance.set",
  cancelRuns: "maintenance.cancel_runs",
};

/** Operations that can stream, with the streaming method. Streams reconnect automatically. */
export const streams: Record<string, string> = {
  listEvents: "runs.stream",
  listBuildEvents: "builds.stream",
};

/** Methods that the clients add to the operations. */
export const additions: readonly string[] = ["runs.wait", "runs.create_and_wait"];
