import type { Scope } from "@outrider/contract/auth/key";
import type { Route } from "@outrider/contract/route";
import { operations } from "@outrider/contract/routes";
import { workerOperations } from "@outrider/contract/worker-route";
import { artifactHandlers } from "../routes/artifacts.ts";
import { attentionHandlers } from "../routes/attention.ts";
import { buildHandlers } from "../routes/builds.ts";
import { environmentHandlers } from "../routes/environments.ts";
import { eventHandlers } from "../routes/events.ts";
import { followupHandlers } from "../routes/followups.ts";
import { forgeHandlers } from "../routes/forges.ts";
import { harnessHandlers } from "../routes/harnesses.ts";
import { identityHandlers } from "../routes/identities.ts";
import { installationHandlers } from "../routes/installation.ts";
import { keyHandlers } from "../routes/keys.ts";
import { maintenanceHandlers } from "../routes/maintenance.ts";
import { modelProviderHandlers } from "../routes/model-providers.ts";
import { modelHandlers } from "../routes/models.ts";
import { proposalHandlers } from "../routes/proposals.ts";
import { publicationHandlers } from "../routes/publications.ts";
import { runFileHandlers } from "../routes/run-files.ts";
import { runHandlers } from "../routes/runs.ts";
import { secretHandlers } from "../routes/secrets.ts";
import { shareHandlers } from "../routes/shares.ts";
import { shellHandlers } from "../routes/shells.ts";
import { skillHandlers } from "../routes/skills.ts";
import { templateHandlers } from "../routes/templates.ts";
import { usageHandlers } from "../routes/usage.ts";
import { usersHandlers } from "../routes/users.ts";
import { viewHandlers } from "../routes/views.ts";
import { workerHandlers } from "../routes/worker.ts";
import { workersHandlers } from "../routes/workers.ts";
import type { AnyHandler, Handlers } from "./call.ts";
import { requireOwnWork } from "./own-work.ts";

const handlers: Handlers = {
  ...runHandlers,
  ...runFileHandlers,
  ...followupHandlers,
  ...eventHandlers,
  ...environmentHandlers,
  ...buildHandlers,
  ...proposalHandlers,
  ...publicationHandlers,
  ...shellHandlers,
  ...secretHandlers,
  ...forgeHandlers,
  ...modelHandlers,
  ...modelProviderHandlers,
  ...harnessHandlers,
  ...skillHandlers,
  ...identityHandlers,
  ...keyHandlers,
  ...usersHandlers,
  ...workersHandlers,
  ...usageHandlers,
  ...artifactHandlers,
  ...shareHandlers,
  ...attentionHandlers,
  ...viewHandlers,
  ...templateHandlers,
  ...installationHandlers,
  ...maintenanceHandlers,
};

export interface Operation {
  id: string;
  route: Omit<Route, "scope" | "tag" | "summary" | "errors"> & {
    scope: Scope | "worker";
    ownTransactions?: true;
  };
  handler: AnyHandler;
}

/** All operations of the public API and the worker API, with their handlers. */
export const allOperations: Operation[] = [
  ...operations.map(([id, route]) => ({ id, route, handler: handlers[id] as AnyHandler })),
  ...workerOperations.map(([id, route]) => ({
    id: `worker.${id}`,
    route: { ...route, scope: "worker" as const },
    handler: requireOwnWork(workerHandlers[id] as AnyHandler),
  })),
];
