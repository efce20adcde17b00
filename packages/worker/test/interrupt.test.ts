import { createServer, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished, test, vi } from "vitest";
import { longSleep, patience, processesWith, startWorld } from "./world.ts";

/** A way to the server on which answers can be held back, and on which can be seen what the worker was told. */
async function startHoldingProxy(origin: string) {
  const proxy = {
    url: "",
    told: "",
    /** Asked for each request: what its answer waits for. */
    holds: (_body: string): Promise<void> | undefined => undefined,
  };
  const { hostname, port } = new URL(origin);
  const listener = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const { method, url: path, headers } = incoming;
    const forwarded = send({ hostname, port, method, path, headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      forwarded.on("response", resolve).on("error", reject);
    });
    outgoing.on("close", () => forwarded.destroy());
    forwarded.end(body);
    const answer = await answered.catch(() => undefined);
    if (!answer) return outgoing.destroy();
    await proxy.holds(body.toString());
    outgoing.writeHead(answer.statusCode as number, answer.headers);
    if (path?.startsWith("/api/v1/worker/signals")) {
      answer.on("data", (data) => {
        proxy.told += data;
      });
    }
    answer.pipe(outgoing);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const stop = async () => {
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  };
  return Object.assign(proxy, { stop });
}

test("an interrupt that comes while earlier messages are on their way to the agent is not forgotten", async () => {
  const world = await startWorld();
  const proxy = await startHoldingProxy(world.origin);
  onTestFinished(async () => {
    await world.stop();
    await proxy.stop();
  });
  await world.worker({ url: proxy.url });
  const { command, mark } = longSleep();
  const run = await world.create(["RUN: sleep 1", `RUN: ${command}`]);
  await world.event(run, ({ type }) => type === "command.started");

  const asking = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await world.followUp(run, ["SAY: noted"]);
  proxy.holds = (body) => {
    if (!body.includes('"deliver":true')) return undefined;
    asking.resolve();
    return released.promise;
  };
  await asking.promise;
  const { followup_id } = await world.followUp(run, ["SAY: enough"], { mode: "interrupt" });
  await vi.waitUntil(() => proxy.told.includes(followup_id), patience);
  released.resolve();

  // The script goes on where it was, so the long command begins after the message, or was stopped by it.
  await world.event(run, ({ type, data }) => type === "message.user" && data.followup_id === followup_id);
  await world.call("POST", `/agent/runs/${run}/cancel`);
  await vi.waitUntil(() => processesWith(mark).length === 0, patience);
});
