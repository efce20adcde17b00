import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hostsLines, listTcpForwards } from "../../../src/egress/tcp-forwards.ts";
import type { OpenPlace, Place } from "../../conformance/place.ts";
import { inMs, run } from "../../sandboxes/sandbox-support.ts";
import { allowlist, closeAll, closeLater, createProxy, serve } from "../egress-support.ts";

/** Hosts with a port, which programs in a sandbox reach without knowing the proxy. */
export function testTcpForwards(place: Place): void {
  describe.skipIf(place.problem)(`hosts with a port (${place.name})`, () => {
    let opened: OpenPlace;
    beforeAll(async () => {
      opened = await place.open();
    });
    afterEach(closeAll);
    afterAll(() => opened?.close());

    test("are reached by name in a sandbox, under the policy", async () => {
      const port = await serve(createServer((socket) => socket.end("a database\n")));
      const policy = allowlist(`db.internal:${port}`, "queue.internal:5672");
      const proxy = createProxy({
        ...{ policy, exceptions: `db.internal:${port}` },
        lookup: async (name) => [name === "db.internal" ? "127.0.0.1" : "10.0.0.1"],
      });
      closeLater(() => proxy.egress.close());
      const forwards = listTcpForwards(policy);
      const { provider, image } = opened;
      const sandbox = await provider.open({
        ...{ id: randomUUID(), deadline: inMs(300_000), label: {}, ...(image ? { image } : {}) },
        ...{ network: proxy.egress.accept, hosts: hostsLines(forwards) },
        forwards: forwards.map((target) => ({
          ...target,
          accept: (connection) => void proxy.egress.relay(connection, target),
        })),
      });
      closeLater(() => sandbox.close());
      const read = (target: string) => run(sandbox, `timeout 20 cat < /dev/tcp/${target}`);
      expect((await read(`db.internal/${port}`)).stdout).toBe("a database\n");
      // Its address is private, and the operator has no exception for it.
      expect((await read("queue.internal/5672")).stdout).toBe("");
      expect(proxy.refusals).toMatchObject([{ host: "queue.internal", port: 5672 }]);
      // Without an entry, there is no listener.
      expect((await read(`db.internal/${port + 1}`)).stderr).toContain("refused");
    });
  });
}
