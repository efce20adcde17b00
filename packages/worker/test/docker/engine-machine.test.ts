import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { dirname } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { programArchitecture } from "../../src/sandboxes/files/programs.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { newOwner, openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

/** By the end of a path: what the response to it says instead. */
type Claims = Record<string, object>;

/** Starts a proxy to the shared Docker that changes what the engine says about its machine. Returns its address. */
async function startProxy(claims: Claims): Promise<string> {
  const socketPath = (await sharedDocker()).replace("unix://", "");
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const engine = connect(socketPath);
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        engine.destroy();
      });
    }
    engine.pipe(client);
    client.on("end", () => engine.end());
    client.on("data", (chunk) => {
      const path = /^GET (\S+) HTTP/.exec(chunk.toString("latin1", 0, 200))?.[1] ?? "";
      const claim = Object.entries(claims).find(([end]) => path.endsWith(end))?.[1];
      if (!claim) return engine.write(chunk);
      get({ socketPath, path }, async (answer) => {
        const body = JSON.stringify({ ...((await json(answer)) as object), ...claim });
        client.write(`HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function openProvider(claims: Claims) {
  const { root } = makeRoot();
  onTestFinished(() => removeFolder(dirname(root)));
  const systemImage = await ensureSystemImage(await openSharedEngine(), {
    owner: { installation: "test-conformance" },
  });
  const engine = { host: await startProxy(claims) };
  return await openDockerProvider({ root, log: silent, docker: { engine, owner: newOwner(), systemImage } });
}

describe.skipIf(!canRunEngines)("the machine of an engine", () => {
  it("must have the architecture of the worker's programs", async () => {
    const own = programArchitecture();
    const { docker } = await openSharedEngine();
    expect(own).toBe((await docker.version()).Arch);
    const other = own === "arm64" ? "amd64" : "arm64";
    await expect(openProvider({ "/version": { Arch: other } })).rejects.toThrow(
      `The container engine runs on ${other}, but this worker's programs are for ${own}. Use an engine on a machine with ${own}, or run the worker on a machine with ${other}.`,
    );
  });

  it("has the memory that sandboxes without a limit share, whatever the worker's machine has", async () => {
    const provider = await openProvider({ "/info": { MemTotal: 2 ** 30 } });
    onTestFinished(() => provider.stop());
    const sandbox = await provider.open({ id: "small", deadline: inMs(600_000), label: {} });
    onTestFinished(() => sandbox.close());
    expect(sandbox.enforced.memory).toMatchObject({ enforced: true, limit: 512 });
    const script = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
    expect((await run(sandbox, script)).stdout).toBe(`${512 * 2 ** 20}\n`);
  });
});
