import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** The colours of code are not among them: they come behind the first diff that somebody looks at. */
const MOST_BYTES = 260_000;

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

test("the first load of a session page is at most 260 kB, with everything that is fetched for it", async () => {
  const run = await world.create(["SAY: small"]);
  const { page, context } = await world.visit("/favicon.svg");
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
    // Data is not part of the page: it is as large as the run.
    if (!address || address.startsWith("/api/")) return;
    sizes.set(address, (sizes.get(address) ?? 0) + encodedDataLength);
  });
  await page.goto(`/runs/${run}`);
  await page.getByRole("textbox", { name: "Message to the agent" }).waitFor();
  await page.getByText("SAY: small").last().waitFor();
  const sum = [...sizes.values()].reduce((total, size) => total + size, 0);
  console.info(`A session page fetches ${sum} bytes in ${sizes.size} files.`);
  expect(sizes.size).toBeGreaterThan(3);
  expect(sum, JSON.stringify([...sizes], null, 1)).toBeLessThanOrEqual(MOST_BYTES);
});
