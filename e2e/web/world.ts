import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, type ConsoleMessage, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { startWorld, type World } from "../../packages/worker/test/world.ts";
import { findBrowser } from "../find-browser.ts";

/** The web app as a person meets it: the real server, worker and sandbox, in a real browser. */

export const sizes = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
/** How long a page is waited for, on a machine with other work. */
export const patient = { timeout: 20_000, interval: 50 };

export type Size = keyof typeof sizes;
export type Theme = "light" | "dark";

const flags = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  ...["--disable-component-update", "--disable-sync"],
];

export interface VisitorOptions {
  theme?: Theme;
  size?: Size;
  /** False for somebody with nothing but an address. */
  signedIn?: boolean;
}

export interface WebWorld extends World {
  browser: Browser;
  /** A browser of its own: nothing is shared with other visitors. */
  visit(path: string, options?: VisitorOptions): Promise<Visitor>;
  stop(): Promise<void>;
}

export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** What the console complained of, refused scripts and styles included, and requests that left our origin. */
  complaints: string[];
}

export async function startWebWorld(environment: Record<string, string> = {}): Promise<WebWorld> {
  const world = await startWorld(environment);
  const browser = await chromium.launch({ executablePath: findBrowser(), args: flags });
  return {
    ...world,
    browser,
    async visit(path, { theme = "light", size = "desktop", signedIn = true } = {}) {
      const context = await browser.newContext({
        viewport: sizes[size],
        colorScheme: theme,
        hasTouch: size === "phone",
        baseURL: world.origin,
        locale: "en-GB",
        timezoneId: "Europe/Berlin",
      });
      // Less than a test may take, so that it says what it waited for.
      context.setDefaultTimeout(20_000);
      // Pages that nobody looks at any more would go on asking the server. One that several tests look at stays.
      if (expect.getState().currentTestName) onTestFinished(() => context.close());
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      if (signedIn) await signIn(context, world);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" && !isPassing(message)) complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(String(error)));
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (/^https?:$/.test(url.protocol) && url.origin !== world.origin) complaints.push(`outside: ${url}`);
      });
      await page.goto(path);
      // Without the focus a page may not write to the clipboard.
      await page.bringToFront();
      return { page, context, complaints };
    },
    async stop() {
      await browser.close();
      await world.stop();
    },
  };
}

/** Pages look every few seconds at what is stopped. One look that finds the machine too busy is made up for by the next. */
function isPassing(message: ConsoleMessage): boolean {
  return message.location().url.endsWith("/api/v1/installation") && /status of 503/.test(message.text());
}

/** By a one-time link, as the first admin; the cookie is the browser's own. */
async function signIn(context: BrowserContext, { call, origin }: World) {
  const { body: me } = await call("GET", "/me");
  const { body: made } = await call("POST", `/people/${me.uid}/link`);
  const token = new URL(made.link).hash.replace("#token=", "");
  const reply = await context.request.post(`${origin}/api/v1/auth/link`, { data: { token } });
  expect(reply.status()).toBe(200);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What axe finds wrong with the page, one line each: serious things only. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // The page's own policy refuses what is injected; the browser's debugger may.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)} })`,
  )) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`));
}

export async function expectAccessible(page: Page) {
  expect(await accessibilityFaults(page)).toEqual([]);
}
