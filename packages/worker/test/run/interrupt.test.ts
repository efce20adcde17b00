import { createServer, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { longSleep, processesWith, startTestInstallation } from "../installation.ts";

/** A proxy to the server that can delay responses and records the signals that the worker received. */
async function startDelayingProxy(origin: string) {
  const proxy = {
    url: "",
    signals: "",
    /** Returns what the response to a request waits for. */
    delay: (_body: string): Promise<void> | undefined => undefined,
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
    await proxy.delay(body.toString());
    outgoing.writeHead(answer.statusCode as number, answer.headers);
    if (path?.startsWith("/api/v1/worker/signals")) {
      answer.on("data", (data) => {
        proxy.signals += data;
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

test("an interrupt that arrives while earlier messages are being delivered is not lost", async () => {
  const installation = await startTestInstallation();
  const proxy = await startDelayingProxy(installation.origin);
  onTestFinished(async () => {
    await installation.stop();
    await proxy.stop();
  });
  await installation.worker({ url: proxy.url });
  const { command, mark } = longSleep();
  const run = await installation.create(["RUN: sleep 1", `RUN: ${command}`]);
  await installation.event(run, ({ type }) => type === "command.started");

  const asking = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await installation.followUp(run, ["SAY: noted"]);
  proxy.delay = (body) => {
    if (!body.includes('"deliver":true')) return undefined;
    asking.resolve();
    return released.promise;
  };
  await asking.promise;
  const { followup_id } = await installation.followUp(run, ["SAY: enough"], { mode: "interrupt" });
  await vi.waitUntil(() => proxy.signals.includes(followup_id), waitOptions);
  released.resolve();

  // The script continues, so the long command starts after the message or was stopped by it.
  await installation.event(
    run,
    ({ type, data }) => type === "message.user" && data.followup_id === followup_id,
  );
  await installation.call("POST", `/agent/runs/${run}/cancel`);
  await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
});
