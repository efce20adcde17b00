import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { errorCodes, errorEntry } from "@outrider/contract/errors/error";
import fastify, { type FastifyInstance } from "fastify";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findBrowser } from "../../../../e2e/find-browser.ts";
import { html, markCode } from "../../src/api/pages/docs/html.ts";
import { referenceDocument } from "../../src/api/pages/docs/reference-document.ts";
import { registerDocs } from "../../src/api/pages/docs.ts";

const openapi = readFileSync(new URL("../../../../openapi.json", import.meta.url), "utf8");

// Not localhost: a part of the renderer shows documents to an outside service, but never local ones.
const host = "outrider.test";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--host-resolver-rules=MAP ${host} 127.0.0.1`,
];

/** The pages alone, with one call of the API for those who try it. */
function createDocsApp() {
  const app = fastify();
  const seen = { operations: [] as unknown[], authorization: "" };
  app.addHook("onRoute", ({ url, config }) => {
    if (url.startsWith("/docs"))
      seen.operations.push((config as { operation?: string } | undefined)?.operation);
  });
  app.get("/api/v1/openapi.json", async (_request, reply) => reply.type("application/json").send(openapi));
  app.get("/api/v1/me", async (request) => {
    seen.authorization = request.headers.authorization ?? "";
    return { answered: "by the test" };
  });
  registerDocs(app, { openapi: () => openapi });
  return { app, seen };
}

const { app, seen } = createDocsApp();
afterAll(() => app.close());

async function get(url: string, headers: Record<string, string> = {}) {
  return app.inject({ url, headers });
}

function assetsOf(page: string): string[] {
  return [...page.matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, address]) => address as string);
}

describe("responses", () => {
  test("every page has a strict content security policy", async () => {
    for (const url of ["/docs", "/docs/errors", "/docs/errors/conflict"]) {
      const { statusCode, headers, body } = await get(url);
      const policy = String(headers["content-security-policy"]).split("; ");
      expect(statusCode).toBe(200);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "style-src 'self'",
          "base-uri 'none'",
          "frame-ancestors 'none'",
        ]),
      );
      expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
      expect(body).toContain('<meta charset="utf-8">');
      expect(body).toContain('name="viewport"');
      expect(body).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=|(src|href)="(https?:)?\/\//);
    }
  });

  test("assets are cached forever, because their path changes with their content", async () => {
    const assets = assetsOf((await get("/docs")).body);
    expect(assets.length).toBeGreaterThan(5);
    for (const address of assets) {
      const plain = await get(address);
      const packed = await get(address, { "accept-encoding": "br, gzip" });
      expect(plain.statusCode).toBe(200);
      expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
      expect(plain.headers["content-encoding"]).toBeUndefined();
      expect(packed.headers["content-encoding"]).toBe("gzip");
      expect(packed.headers.vary).toBe("accept-encoding");
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    }
    const [first = ""] = assets;
    expect((await get(first, { "accept-encoding": "gzip;q=0" })).headers["content-encoding"]).toBeUndefined();
    expect((await get(first.replace(/[0-9a-f]{16}/, "0".repeat(16)))).statusCode).toBe(404);
  });

  test("every error code has a page that works without JavaScript", async () => {
    const index = await get("/docs/errors");
    for (const code of errorCodes) {
      const { title, status, onRun } = errorEntry(code);
      const { statusCode, headers, body } = await get(`/docs/errors/${code}`);
      expect(statusCode).toBe(200);
      expect(headers["content-security-policy"]).not.toContain("script-src");
      expect(body).not.toContain("<script");
      expect(body).toContain(`<h1><code>${code}</code></h1>`);
      expect(body).toContain(markCode(title).text);
      expect(body.includes("Example response")).toBe(status !== undefined);
      expect(body.includes("Example run")).toBe(onRun === true);
      expect(body.replace(/<pre>.*?<\/pre>/gs, "")).not.toContain("`");
      expect(index.body).toContain(`href="/docs/errors/${code}"`);
      expect(index.body).toContain(markCode(title).text);
    }
  });

  test.each(["no_such_code", "constructor", "__proto__", "conflict/more", "CONFLICT"])(
    "%s has no page",
    async (code) => {
      expect((await get(`/docs/errors/${code}`)).statusCode).toBe(404);
    },
  );

  test("every docs route has the same operation name in logs and metrics", () => {
    expect(new Set(seen.operations)).toEqual(new Set(["docs"]));
  });
});

describe("building blocks", () => {
  test("templates escape values that are not HTML", () => {
    const hostile = `<img src=x onerror="a('&')">`;
    expect(html`<p title="${hostile}">${html`<b>${1}</b>`}</p>`.text).toBe(
      '<p title="&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;"><b>1</b></p>',
    );
    expect(markCode("a `<b>` & c").text).toBe("a <code>&lt;b&gt;</code> &amp; c");
  });

  test("the reference links error codes instead of repeating the problem schema", () => {
    const { paths } = JSON.parse(referenceDocument(openapi));
    const { responses, description } = paths["/agent/run"].post;
    expect(responses["400"].content).toBeUndefined();
    expect(responses["400"].description).toContain("[`invalid_request`](/docs/errors/invalid_request): ");
    expect(responses["200"].content).toBeDefined();
    expect(description).toContain("`runs:write`");
  });
});

describe("in a browser", () => {
  let browser: Browser;
  let origin: string;
  const requests: string[] = [];
  const consoleErrors: string[] = [];

  beforeAll(async () => {
    await listen(app);
    browser = await chromium.launch({ executablePath: findBrowser(), args: flags });
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    requests.length = 0;
    consoleErrors.length = 0;
  });

  async function listen(server: FastifyInstance) {
    await server.listen({ host: "127.0.0.1", port: 0 });
    origin = `http://${host}:${(server.server.address() as AddressInfo).port}`;
  }

  /** A page whose every request and complaint is written down; what goes elsewhere is also stopped. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options);
    context.on("request", (request) => requests.push(request.url()));
    await context.route(
      (url) => url.origin !== origin && url.protocol !== "data:",
      (route) => route.abort(),
    );
    const page = await context.newPage();
    page.on("pageerror", (error) => consoleErrors.push(error.message));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) consoleErrors.push(message.text());
    });
    await page.goto(origin + path);
    return page;
  }

  function expectNothingFromOutside() {
    const outside = requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:"));
    expect(outside).toEqual([]);
    expect(consoleErrors).toEqual([]);
    expect(requests.length).toBeGreaterThan(1);
  }

  test("the reference shows, filters and tries operations without third-party requests", async () => {
    const page = await open("/docs");
    await page.getByText("Create a run", { exact: true }).waitFor();
    // The renderer draws long lists piece by piece, so only the first names are sure to be there.
    for (const name of Object.keys(JSON.parse(openapi).components.schemas).slice(0, 8)) {
      await page.locator("section.models").getByText(name, { exact: true }).first().waitFor();
    }

    await page.getByPlaceholder("Filter by tag or path").fill("Secrets");
    await page.getByText("Create a run", { exact: true }).waitFor({ state: "detached" });
    await page.getByText("List secrets").waitFor();
    await page.getByPlaceholder("Filter by tag or path").fill("");

    await page.getByRole("button", { name: "Authorize" }).click();
    await page.getByLabel("Value").fill("orp_of_the_test");
    await page.getByRole("button", { name: "Apply credentials" }).click();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    const call = page.locator("#operations-Keys-getMe");
    await call.locator(".opblock-summary-control").click();
    await call.getByRole("button", { name: "Try it out" }).click();
    await call.getByRole("button", { name: "Execute" }).click();
    await call.getByText("by the test").first().waitFor();

    expect(seen.authorization).toBe("Bearer orp_of_the_test");
    expect(
      await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"),
    ).not.toContain("orp_of_the_test");
    expectNothingFromOutside();
  });

  test("an error code in the reference links to its page", async () => {
    const page = await open("/docs#/Runs/createRun");
    const link = page.locator("#operations-Runs-createRun").getByRole("link", { name: "invalid_request" });
    expect(await link.getAttribute("href")).toBe("/docs/errors/invalid_request");
    expectNothingFromOutside();
  });

  test("the reference fits a phone and follows the dark color scheme", async () => {
    const page = await open("/docs#/Runs/createRun", {
      colorScheme: "dark",
      viewport: { width: 390, height: 844 },
    });
    await page.locator("#operations-Runs-createRun .responses-table").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(await page.evaluate("document.documentElement.className")).toBe("dark-mode");
    await page.emulateMedia({ colorScheme: "light" });
    // waitForFunction evaluates a string on each poll, which the page's content security policy forbids.
    await page.locator("html:not(.dark-mode)").waitFor({ state: "attached" });
    expectNothingFromOutside();
  });

  const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
    [390, 1280].map((width) => ({ colorScheme, width })),
  );

  test.each(looks)("error pages are readable ($colorScheme, $width px)", async ({ colorScheme, width }) => {
    const page = await open("/docs/errors", { colorScheme, viewport: { width, height: 844 } });
    for (const path of [
      "/docs/errors",
      "/docs/errors/budget_exceeded",
      "/docs/errors/external_authentication_required",
    ]) {
      await page.goto(origin + path);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      const pairs = (await page.evaluate(textColours)) as [text: string, behind: string][];
      expect(pairs.length).toBeGreaterThan(3);
      for (const pair of pairs)
        expect(contrast(pair), `${path}: ${pair.join(" on ")}`).toBeGreaterThanOrEqual(4.5);
    }
    expectNothingFromOutside();
  });
});

/** Runs in the page: each colour of a text together with the colour that lies behind it. */
const textColours = `(() => {
  const pairs = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (texts.currentNode.data.trim() === "") continue;
    let behind = texts.currentNode.parentElement;
    const { color } = getComputedStyle(behind);
    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
    const pair = [color, getComputedStyle(behind).backgroundColor];
    pairs.set(pair.join(), pair);
  }
  return [...pairs.values()];
})()`;

/** The contrast ratio that WCAG defines. */
function contrast(pair: [string, string]): number {
  const [dark, light] = pair.map(luminance).sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const channels = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map((channel) => Number(channel) / 255);
  const [red, green, blue] = channels.map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  ) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
