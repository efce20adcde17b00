import type { Route } from "./route.ts";
import { artifactsRoutes } from "./routes/artifacts.ts";
import { attentionRoutes } from "./routes/attention.ts";
import { buildsRoutes } from "./routes/builds.ts";
import { environmentsRoutes } from "./routes/environments.ts";
import { eventsRoutes } from "./routes/events.ts";
import { followupsRoutes } from "./routes/followups.ts";
import { forgesRoutes } from "./routes/forges.ts";
import { harnessesRoutes } from "./routes/harnesses.ts";
import { identitiesRoutes } from "./routes/identities.ts";
import { installationRoutes } from "./routes/installation.ts";
import { keysRoutes } from "./routes/keys.ts";
import { maintenanceRoutes } from "./routes/maintenance.ts";
import { modelProvidersRoutes } from "./routes/model-providers.ts";
import { modelsRoutes } from "./routes/models.ts";
import { proposalsRoutes } from "./routes/proposals.ts";
import { publicationsRoutes } from "./routes/publications.ts";
import { runFilesRoutes } from "./routes/run-files.ts";
import { runsRoutes } from "./routes/runs.ts";
import { secretsRoutes } from "./routes/secrets.ts";
import { sharesRoutes } from "./routes/shares.ts";
import { shellsRoutes } from "./routes/shells.ts";
import { skillsRoutes } from "./routes/skills.ts";
import { templatesRoutes } from "./routes/templates.ts";
import { usageRoutes } from "./routes/usage.ts";
import { usersRoutes } from "./routes/users.ts";
import { viewsRoutes } from "./routes/views.ts";
import { workersRoutes } from "./routes/workers.ts";

/** All routes of the public API. The server's handlers, `openapi.json` and the clients are derived from this table. */
export const routes = {
  ...runsRoutes,
  ...followupsRoutes,
  ...eventsRoutes,
  ...artifactsRoutes,
  ...runFilesRoutes,
  ...sharesRoutes,
  ...attentionRoutes,
  ...viewsRoutes,
  ...templatesRoutes,
  ...environmentsRoutes,
  ...buildsRoutes,
  ...proposalsRoutes,
  ...publicationsRoutes,
  ...shellsRoutes,
  ...secretsRoutes,
  ...forgesRoutes,
  ...modelsRoutes,
  ...modelProvidersRoutes,
  ...harnessesRoutes,
  ...skillsRoutes,
  ...identitiesRoutes,
  ...keysRoutes,
  ...workersRoutes,
  ...usageRoutes,
  ...usersRoutes,
  ...installationRoutes,
  ...maintenanceRoutes,
};

export type Routes = typeof routes;
export type OperationId = keyof Routes;

export const operations = Object.entries(routes) as [OperationId, Route][];
