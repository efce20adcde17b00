import { afterAll, beforeAll, expect, test } from "vitest";
import { startWebApp, type WebApp } from "./support/web-app.ts";

/** Without syntax highlighting, which is loaded with the first diff. */
const MAX_BYTES = 260_000;

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

test("the first load of a run page fetches at most 260 kB", async () => {
  const run = await app.create(["SAY: small"]);
  const { page, context } = await app.visit("/favicon.svg");
  const protocol = await context.newCDPSession(page);
  await protocol.send("Network.enable");
  await protocol.send("Network.setCacheDisabled", { cacheDisabled: true });
  const addresses = new Map<string, string>();
  const sizes = new Map<string, number>();
  protocol.on("Network.responseReceived", ({ requestId, response }) => {
    addresses.set(requestId, new URL(response.url).pathname);
  });
  protocol.on("Network.dataReceived", ({ requestId, encodedDataLength }) => {
    const address = addresses.get(requestId);
    // API responses do not count, because their size depends on the run.
    if (!address || address.startsWith("/api/")) return;
    sizes.set(address, (sizes.get(address) ?? 0) + encodedDataLength);
  });
  // Files that are fetched later, when the browser is idle, do not count.
  await context.addInitScript(
    "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })",
  );
  await page.goto(`/runs/${run}`);
  await page.getByRole("textbox", { name: "Message to the agent" }).waitFor();
  await page.getByText("SAY: small").last().waitFor();
  const sum = [...sizes.values()].reduce((total, size) => total + size, 0);
  console.info(`A session page fetches ${sum} bytes in ${sizes.size} files.`);
  expect(sizes.size).toBeGreaterThan(3);
  expect(sum, JSON.stringify([...sizes], null, 1)).toBeLessThanOrEqual(MAX_BYTES);
});
