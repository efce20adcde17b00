import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { serveEgress } from "../../src/egress/proxy.ts";
import { silent } from "../sandboxes/sandbox-support.ts";
import { closeAll, openTunnel, readToEnd, send, serve } from "./egress-support.ts";
import { testProxy } from "./suite/proxy.ts";
import { onLoopback } from "./suite/proxy-access.ts";

afterEach(closeAll);
testProxy(onLoopback);

test("serves a listener that another process created", async () => {
  const port = await serve(createHttpServer((_, response) => response.end("web")));
  const program = `const server = require("node:net").createServer();
    server.listen(0, "127.0.0.1", () => process.send(server.address().port, server, () => process.exit()));`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const exited = once(child, "exit");
  const [proxyPort, listener] = (await once(child, "message")) as [number, Server];
  const egress = serveEgress({
    listener,
    policy: { mode: "open", allow: [] },
    exceptions: parseExceptions("127.0.0.1"),
    onRefused: () => {},
    log: silent,
  });
  await exited;
  const url = `http://127.0.0.1:${port}/`;
  expect(await send(proxyPort, `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).toContain(
    "web",
  );
  const echo = await serve(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
  const socket = await openTunnel(proxyPort, `127.0.0.1:${echo}`);
  socket.end("back");
  expect(await readToEnd(socket)).toBe("back");
  await egress.close();
  await expect(send(proxyPort, "x")).rejects.toThrow("ECONNREFUSED");
});
