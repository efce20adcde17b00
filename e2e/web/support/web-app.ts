import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, type ConsoleMessage, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { startTestInstallation, type TestInstallation } from "../../../packages/worker/test/installation.ts";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { findBrowser } from "../../find-browser.ts";

/** Starts a real server, worker and sandbox, and opens the web app in a real browser. */

export const sizes = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
/** Generous, because the machine may be under load. */

export type Size = keyof typeof sizes;
export type Theme = "light" | "dark";

const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

export interface VisitorOptions {
  theme?: Theme;
  size?: Size;
  /** Whether the visitor is signed in as the first admin. */
  signedIn?: boolean;
}

export interface WebApp extends TestInstallation {
  browser: Browser;
  /** Opens a path in a new browser context, which shares nothing with others. */
  visit(path: string, options?: VisitorOptions): Promise<Visitor>;
  stop(): Promise<void>;
}

export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** Console errors, including content security policy violations, and requests to other origins. */
  consoleErrors: string[];
}

export async function startWebApp(environment: Record<string, string> = {}): Promise<WebApp> {
  const app = await startTestInstallation(environment);
  // Without a UTF-8 locale, Chromium cannot give a download a name that is not ASCII.
  const env = { ...process.env, LC_ALL: "C.UTF-8" } as Record<string, string>;
  const browser = await chromium.launch({ executablePath: findBrowser(), args: flags, env });
  return {
    ...app,
    browser,
    async visit(path, { theme = "light", size = "desktop", signedIn = true } = {}) {
      const context = await browser.newContext({
        viewport: sizes[size],
        colorScheme: theme,
        hasTouch: size === "phone",
        baseURL: app.origin,
        locale: "en-GB",
        timezoneId: "Europe/Berlin",
      });
      // Below the test timeout, so that the error says what it waited for.
      context.setDefaultTimeout(waitOptions.timeout);
      // Closes the context with its test, because open pages keep polling. Contexts opened in hooks stay open.
      if (expect.getState().currentTestName) onTestFinished(() => context.close());
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      if (signedIn) await signIn(context, app);
      await context.addInitScript(reportViolations);
      const page = await context.newPage();
      const consoleErrors: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" && !isTemporary(message)) consoleErrors.push(message.text());
      });
      page.on("pageerror", (error) => consoleErrors.push(String(error)));
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (/^https?:$/.test(url.protocol) && url.origin !== app.origin)
          consoleErrors.push(`outside: ${url}`);
      });
      await page.goto(path);
      // Only a focused page can write to the clipboard.
      await page.bringToFront();
      return { page, context, consoleErrors };
    },
    async stop() {
      await browser.close();
      await app.stop();
    },
  };
}

/** Chromium does not log a violation that the page caught, such as a blocked `eval`. */
const reportViolations = `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("blocked by " + violatedDirective + ": " + blockedURI));`;

/** Pages poll the service status. A single failed poll under load is harmless. */
function isTemporary(message: ConsoleMessage): boolean {
  return message.location().url.endsWith("/api/v1/installation") && /status of 503/.test(message.text());
}

/** Signs in as the first admin through a one-time link. */
async function signIn(context: BrowserContext, { call, origin }: TestInstallation) {
  const { body: me } = await call("GET", "/me");
  const { body: made } = await call("POST", `/users/${me.uid}/link`);
  const token = new URL(made.link).hash.replace("#token=", "");
  const reply = await context.request.post(`${origin}/api/v1/auth/link`, { data: { token } });
  expect(reply.status()).toBe(200);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Returns the serious violations that axe finds, one line each. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  // Evaluated through the debugger, because the content security policy blocks injected scripts.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)} })`,
  )) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

export async function expectAccessible(page: Page) {
  expect(await accessibilityViolations(page)).toEqual([]);
}
