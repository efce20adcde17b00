/**
 * Where each operation of openapi.json is found in the clients: resource and method, in the spelling of Python; TypeScript
 * writes `createAndWait` for `create_and_wait`. One table, so that who knows one client knows the others.
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
  listSecrets: "secrets.list",
  putSecret: "secrets.put",
  deleteSecret: "secrets.delete",
  listModels: "models.list",
  listSkills: "skills.list",
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
  listPeople: "people.list",
  invitePerson: "people.invite",
  updatePerson: "people.update",
  deletePerson: "people.delete",
  createSignInLink: "people.link",
  getInstallation: "installation.get",
  getBrake: "brake.get",
  setBrake: "brake.set",
  cancelRuns: "brake.cancel_runs",
};

/** Operations that also stream, and the method that does it; a stream goes on by itself where it was cut. */
export const streams: Record<string, string> = {
  listEvents: "runs.stream",
  listBuildEvents: "builds.stream",
};

/** What the clients add to the operations. */
export const additions: readonly string[] = ["runs.wait", "runs.create_and_wait"];
