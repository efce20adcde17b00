import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { loadPart } from "./frame/connection.ts";
import { Frame } from "./frame/frame.tsx";
import { requireSignIn } from "./frame/require-sign-in.ts";
import { readHomeSearch } from "./pages/home/search.ts";
import { readInsightsSearch } from "./pages/insights/search.ts";
import { readKeysSearch } from "./pages/keys/search.ts";
import { NotFound } from "./pages/not-found.tsx";
import { PageError } from "./pages/page-error.tsx";
import { AppPending, PagePending } from "./pages/page-pending.tsx";
import { readSearch } from "./pages/runs/search.ts";
import { tabOf } from "./pages/session/tab.ts";
import { readSettingsSearch } from "./pages/settings/search.ts";

/** Defines the routes. Each page's code is loaded when the page is first opened, or before that when idle. */
const page = <Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) => lazyRouteComponent(() => loadPart(load), name);

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NotFound,
});

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search): { next?: string; ended?: true } => ({
    ...(typeof search.next === "string" && { next: search.next }),
    ...(search.ended === true && { ended: true }),
  }),
  component: page(() => import("./pages/login/login.tsx"), "Login"),
  pendingComponent: AppPending,
});

const shared = createRoute({
  getParentRoute: () => root,
  path: "/shared/$token",
  validateSearch: tabOf,
  component: page(() => import("./pages/shared/shared.tsx"), "Shared"),
  pendingComponent: AppPending,
});

const frame = createRoute({
  getParentRoute: () => root,
  id: "frame",
  // No page sends requests before it is known that the user is signed in.
  beforeLoad: ({ location: { href } }) => requireSignIn(href),
  component: Frame,
  pendingComponent: AppPending,
});

const home = createRoute({
  getParentRoute: () => frame,
  path: "/",
  validateSearch: readHomeSearch,
  component: page(() => import("./pages/home/home.tsx"), "Home"),
});

const welcome = createRoute({
  getParentRoute: () => frame,
  path: "/welcome",
  component: page(() => import("./pages/welcome/welcome.tsx"), "Welcome"),
});

const runs = createRoute({
  getParentRoute: () => frame,
  path: "/runs",
  validateSearch: readSearch,
  component: page(() => import("./pages/runs/runs.tsx"), "Runs"),
});

const insights = createRoute({
  getParentRoute: () => frame,
  path: "/insights",
  validateSearch: readInsightsSearch,
  component: page(() => import("./pages/insights/insights.tsx"), "Insights"),
});

const session = createRoute({
  getParentRoute: () => frame,
  path: "/runs/$runId",
  validateSearch: tabOf,
  component: page(() => import("./pages/session/session.tsx"), "Session"),
});

const environments = createRoute({
  getParentRoute: () => frame,
  path: "/environments",
  component: page(() => import("./pages/environments/environments.tsx"), "Environments"),
});

const newEnvironment = createRoute({
  getParentRoute: () => frame,
  path: "/environments/new",
  staticData: { isAdminOnly: true },
  validateSearch: ({ from }): { from?: string } => (typeof from === "string" ? { from } : {}),
  component: page(() => import("./pages/environments/new-environment.tsx"), "NewEnvironment"),
});

const environment = createRoute({
  getParentRoute: () => frame,
  path: "/environments/$environmentId",
  validateSearch: ({ tab, build, run }): { tab?: "builds" | "test"; build?: string; run?: string } => ({
    ...(tab === "builds" || tab === "test" ? { tab } : {}),
    ...(typeof build === "string" ? { build } : {}),
    ...(typeof run === "string" ? { run } : {}),
  }),
  component: page(() => import("./pages/environments/environment.tsx"), "Environment"),
});

const secrets = createRoute({
  getParentRoute: () => frame,
  path: "/secrets",
  component: page(() => import("./pages/secrets/secrets.tsx"), "Secrets"),
});

const skills = createRoute({
  getParentRoute: () => frame,
  path: "/skills",
  component: page(() => import("./pages/skills/skills.tsx"), "Skills"),
});

const templates = createRoute({
  getParentRoute: () => frame,
  path: "/templates",
  component: page(() => import("./pages/templates/templates.tsx"), "Templates"),
});

const agents = createRoute({
  getParentRoute: () => frame,
  path: "/agents",
  component: page(() => import("./pages/agents/agents.tsx"), "Agents"),
});

const keys = createRoute({
  getParentRoute: () => frame,
  path: "/keys",
  validateSearch: readKeysSearch,
  component: page(() => import("./pages/keys/keys.tsx"), "Keys"),
});

const workers = createRoute({
  getParentRoute: () => frame,
  path: "/workers",
  staticData: { isAdminOnly: true },
  component: page(() => import("./pages/workers/workers.tsx"), "Workers"),
});

const settings = createRoute({
  getParentRoute: () => frame,
  path: "/settings",
  validateSearch: readSettingsSearch,
  component: page(() => import("./pages/settings/settings.tsx"), "Settings"),
});

const forges = createRoute({
  getParentRoute: () => frame,
  path: "/settings/forges",
  beforeLoad: () => {
    throw redirect({ to: "/settings", search: { section: "forges" }, replace: true });
  },
});

const word = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const newGitHubApp = createRoute({
  getParentRoute: () => frame,
  path: "/settings/forges/github-app/new",
  staticData: { isAdminOnly: true },
  validateSearch: ({ host, organization }): { host?: string; organization?: string } => ({
    ...(word(host) && { host: word(host) }),
    ...(word(organization) && { organization: word(organization) }),
  }),
  component: page(() => import("./pages/settings/forges/new-github-app.tsx"), "NewGitHubApp"),
});

const createdGitHubApp = createRoute({
  getParentRoute: () => frame,
  path: "/settings/forges/github-app",
  staticData: { isAdminOnly: true },
  validateSearch: ({ code, state }) => ({ code: word(code), state: word(state) }),
  component: page(() => import("./pages/settings/forges/created-github-app.tsx"), "CreatedGitHubApp"),
});

const pages = [
  home,
  welcome,
  runs,
  insights,
  session,
  environments,
  newEnvironment,
  environment,
  secrets,
  skills,
  templates,
  agents,
  keys,
  workers,
  settings,
  forges,
  newGitHubApp,
  createdGitHubApp,
];

export const router = createRouter({
  routeTree: root.addChildren([login, shared, frame.addChildren(pages)]),
  defaultErrorComponent: PageError,
  defaultPendingComponent: PagePending,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
  interface StaticDataRouteOption {
    /** Others see why they cannot use the page, and the page sends no requests. */
    isAdminOnly?: boolean;
  }
}
