import { once } from "node:events";
import { createServer } from "node:net";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { createEgressSessions, type Notice } from "../../src/egress/egress-session.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { hostsLines, listTcpForwards } from "../../src/egress/tcp-forwards.ts";
import { silentLog } from "../../src/log.ts";
import { allowlist, closeAll, closeLater, openTunnel, send, serve, startProxy } from "./egress-support.ts";

afterEach(closeAll);

const echo = () => serve(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
const connectTo = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;

describe("an entry with a port", () => {
  test("permits exactly that port", async () => {
    const port = await echo();
    const proxy = await startProxy({
      policy: allowlist(`db.example:${port}`, "web.example", "*.cluster.example:9042"),
      exceptions: "127.0.0.1",
      lookup: async () => ["127.0.0.1"],
    });
    const tunnel = await openTunnel(proxy.port, `db.example:${port}`);
    tunnel.end("SELECT 1");
    expect(String((await once(tunnel, "data"))[0])).toBe("SELECT 1");
    for (const target of ["db.example:443", "db.example:22", `web.example:${port}`, "a.cluster.example:443"])
      expect(await send(proxy.port, connectTo(target))).toMatch(/^HTTP\/1\.1 403 /);
    expect(proxy.refusals[0]).toMatchObject({
      host: "db.example",
      port: 443,
      reason: `the environment's allowlist permits only port ${port} of this host`,
      remedy: "The environment's owner can add `db.example:443` to `network.allow`",
    });
  });

  test("does not make a private address reachable", async () => {
    const port = await echo();
    const proxy = await startProxy({
      policy: allowlist(`db.example:${port}`),
      lookup: async () => ["127.0.0.1"],
    });
    expect(await send(proxy.port, connectTo(`db.example:${port}`))).toContain(
      "Only the operator of Outrider can add an exception",
    );
  });
});

describe("programs that know no proxy", () => {
  test("find each host with a port at its own loopback address", () => {
    const forwards = listTcpForwards(
      allowlist(
        "db.internal:5432",
        "web.example",
        "DB.internal:6432",
        "queue.internal:5672",
        "*.x.internal:1",
      ),
    );
    expect(forwards).toEqual([
      { host: "db.internal", port: 5432, address: "127.0.0.2" },
      { host: "db.internal", port: 6432, address: "127.0.0.2" },
      { host: "queue.internal", port: 5672, address: "127.0.0.3" },
    ]);
    expect(hostsLines(forwards)).toBe("127.0.0.2 db.internal\n127.0.0.3 queue.internal\n");
    expect(listTcpForwards({ mode: "open", allow: [] })).toEqual([]);
  });

  test("are connected to the host, under the same policy", async () => {
    const port = await echo();
    const proxy = await startProxy({
      policy: allowlist(`db.internal:${port}`),
      exceptions: "127.0.0.1",
      lookup: async () => ["127.0.0.1"],
    });
    const open = (target: { host: string; port: number }) => {
      const [inside, outside] = duplexPair();
      void proxy.egress.relay(outside, target);
      return { inside, outside };
    };
    const { inside } = open({ host: "db.internal", port });
    inside.end("SELECT 1");
    expect(await text(inside)).toBe("SELECT 1");
    const refused = open({ host: "other.internal", port });
    await once(refused.outside, "close");
    expect(proxy.refusals).toMatchObject([{ host: "other.internal" }]);
  });

  test("are accepted at the addresses of a session's forwards", async () => {
    const sessions = createEgressSessions({ exceptions: parseExceptions(""), log: silentLog });
    const notices: Notice[] = [];
    const allow = ["db.internal:5432"];
    const session = await sessions.open({ mode: "allowlist", allow }, (notice) => notices.push(notice));
    closeLater(() => session.close());
    const { forwards = [], hosts } = session.option;
    expect(forwards).toMatchObject([{ address: "127.0.0.2", port: 5432 }]);
    expect(hosts).toBe("127.0.0.2 db.internal\n");
    const [, outside] = duplexPair();
    outside.on("error", () => {});
    forwards[0]?.accept(outside);
    await once(outside, "close");
    expect(notices).toEqual([]); // the policy permits it, but there is no such host
  });
});

test("the proxy serves connections that are streams and not sockets", async () => {
  const port = await echo();
  const { egress } = await startProxy({ exceptions: "127.0.0.1" });
  const [inside, outside] = duplexPair();
  egress.accept(outside);
  inside.write(connectTo(`127.0.0.1:${port}`));
  expect(String((await once(inside, "data"))[0])).toBe("HTTP/1.1 200 Connection established\r\n\r\n");
  inside.write("hello");
  expect(String((await once(inside, "data"))[0])).toBe("hello");
  inside.end();
  await once(inside.resume(), "end");
});
