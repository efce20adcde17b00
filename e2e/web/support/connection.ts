import { connect, createServer, type Socket } from "node:net";
import type { Page } from "playwright-core";
import { expect, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";

/** The banner that says that the server cannot be reached. */
export const lostBanner = (page: Page) =>
  page.getByRole("status", { name: "Connection" }).getByText("Can’t reach the server.");

/** Opens a page within the app, as a click on a link does. */
export async function openInApp(page: Page, path: string) {
  await page.evaluate(`history.pushState({}, "", ${JSON.stringify(path)})`);
}

/** Takes the page's network away. A busy browser may not apply this to a page that is loading, so requests must fail first. */
export async function goOffline(page: Page) {
  const isOnline = () =>
    page.evaluate(() => fetch("/healthz", { cache: "no-store" }).then(Boolean, () => false));
  await vi.waitFor(async () => {
    // The browser ignores what is set already.
    await page.context().setOffline(false);
    await page.context().setOffline(true);
    expect(await isOnline()).toBe(false);
  }, waitOptions);
}

/** Waits until all files of the app are in the browser. */
export async function waitForPrefetch(page: Page) {
  const files = `performance.getEntriesByType("resource").map(({ name }) => name).join(" ")`;
  await expect.poll(() => page.evaluate(files), waitOptions).toMatch(/cancel-dialog/);
}

/**
 * Starts a proxy to the server that can hang like a stopped process: it accepts connections and requests, but responds
 * only after it continues.
 */
export async function startHangingProxy(origin: string) {
  const { hostname, port } = new URL(origin);
  const sockets = new Set<Socket>();
  let isHanging = false;
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (data) => to.write(data));
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isHanging) from.pause();
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(listener.address() as { port: number }).port}`,
    hang() {
      isHanging = true;
      for (const socket of sockets) socket.pause();
    },
    continue() {
      isHanging = false;
      for (const socket of sockets) socket.resume();
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
