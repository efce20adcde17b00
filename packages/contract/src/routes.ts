import type { Route } from "./route.ts";
import { artifactsRoutes } from "./routes/artifacts.ts";
import { brakeRoutes } from "./routes/brake.ts";
import { buildsRoutes } from "./routes/builds.ts";
import { environmentsRoutes } from "./routes/environments.ts";
import { eventsRoutes } from "./routes/events.ts";
import { followupsRoutes } from "./routes/followups.ts";
import { identitiesRoutes } from "./routes/identities.ts";
import { installationRoutes } from "./routes/installation.ts";
import { keysRoutes } from "./routes/keys.ts";
import { modelsRoutes } from "./routes/models.ts";
import { peopleRoutes } from "./routes/people.ts";
import { runsRoutes } from "./routes/runs.ts";
import { secretsRoutes } from "./routes/secrets.ts";
import { sharesRoutes } from "./routes/shares.ts";
import { skillsRoutes } from "./routes/skills.ts";
import { workersRoutes } from "./routes/workers.ts";

/** The one table of calls. The server's handlers, `openapi.json` and the clients follow it. */
export const routes = {
  ...runsRoutes,
  ...followupsRoutes,
  ...eventsRoutes,
  ...artifactsRoutes,
  ...sharesRoutes,
  ...environmentsRoutes,
  ...buildsRoutes,
  ...secretsRoutes,
  ...modelsRoutes,
  ...skillsRoutes,
  ...identitiesRoutes,
  ...keysRoutes,
  ...workersRoutes,
  ...peopleRoutes,
  ...installationRoutes,
  ...brakeRoutes,
};

export type Routes = typeof routes;
export type OperationId = keyof Routes;

export const operations = Object.entries(routes) as [OperationId, Route][];
