import type { Page } from "playwright-core";
import type { Showcase } from "./showcase.ts";

export interface ShownPage {
  name: string;
  path: (showcase: Showcase) => string;
  /** Whether the visitor is signed in. */
  signedIn?: false;
  /** Waits until the page is complete. */
  ready: (page: Page) => Promise<unknown>;
  /** Included in every test run, not only in full ones. */
  main?: true;
}

/** Waits until nothing is loading: no placeholder is visible and all fonts are loaded. */
export async function settled(page: Page) {
  await page.locator(".animate-pulse").locator("visible=true").first().waitFor({ state: "detached" });
  await page.evaluate("document.fonts.ready");
}

const heading = (name: string | RegExp) => (page: Page) =>
  page.getByRole("heading", { name, level: 1 }).first().waitFor();
const row = (name: RegExp) => (page: Page) => page.getByRole("row", { name }).first().waitFor();
const text = (words: string | RegExp) => (page: Page) =>
  page.getByText(words).locator("visible=true").first().waitFor();

/** Every page of the app. */
export const shownPages: ShownPage[] = [
  { name: "home", path: () => "/", ready: text("Rename total to sumOf, everywhere"), main: true },
  { name: "runs", path: () => "/runs", ready: text("Cut release 4.12"), main: true },
  { name: "insights", path: () => "/insights", ready: text("Runs by outcome"), main: true },
  { name: "session", path: ({ finished }) => `/runs/${finished}`, ready: text(/rounded once/), main: true },
  {
    name: "session-changes",
    path: ({ finished }) => `/runs/${finished}?tab=changes`,
    ready: text("cart.sh"),
  },
  {
    name: "session-timeline",
    path: ({ finished }) => `/runs/${finished}?tab=timeline`,
    ready: heading(/Fix the rounding/),
  },
  {
    name: "session-usage",
    path: ({ finished }) => `/runs/${finished}?tab=usage`,
    ready: heading(/Fix the rounding/),
  },
  {
    name: "session-receipt",
    path: ({ finished }) => `/runs/${finished}?tab=receipt`,
    ready: heading(/Fix the rounding/),
  },
  {
    name: "session-files",
    path: ({ finished }) => `/runs/${finished}?tab=files`,
    ready: (page) => page.getByRole("treeitem").first().waitFor(),
  },
  { name: "session-working", path: ({ working }) => `/runs/${working}`, ready: text(/200 requests/) },
  { name: "session-blocked", path: ({ blocked }) => `/runs/${blocked}`, ready: text(/deprecated alias/) },
  { name: "session-failed", path: ({ failed }) => `/runs/${failed}`, ready: text(/412 old orders/) },
  { name: "shared", path: ({ shared }) => shared, signedIn: false, ready: text(/rounded once/) },
  { name: "environments", path: () => "/environments", ready: text("payments-api") },
  {
    name: "environment",
    path: ({ environment }) => `/environments/${environment}`,
    ready: heading("web-shop"),
  },
  { name: "templates", path: () => "/templates", ready: heading("Templates") },
  { name: "skills", path: () => "/skills", ready: heading("Skills") },
  { name: "agents", path: () => "/agents", ready: text("dependency-bot") },
  { name: "secrets", path: () => "/secrets", ready: text("STAGING_TOKEN") },
  { name: "keys", path: () => "/keys", ready: row(/web shop CI/) },
  { name: "workers", path: () => "/workers", ready: row(/builder-1/) },
  { name: "settings", path: () => "/settings", ready: text("admin@localhost") },
  { name: "settings-users", path: () => "/settings?section=users", ready: row(/Release manager/) },
  { name: "settings-models", path: () => "/settings?section=models", ready: row(/scripted/) },
  { name: "settings-harnesses", path: () => "/settings?section=harnesses", ready: row(/Claude Code/) },
  { name: "settings-forges", path: () => "/settings?section=forges", ready: text("No forge connected") },
  { name: "settings-limits", path: () => "/settings?section=limits", ready: row(/Turn timeout/) },
  {
    name: "settings-operations",
    path: () => "/settings?section=operations",
    ready: text("No active restrictions"),
  },
  { name: "welcome", path: () => "/welcome", ready: text("Start first run") },
  {
    name: "login",
    path: () => "/login",
    signedIn: false,
    ready: (page) => page.getByLabel("Password").waitFor(),
  },
];
