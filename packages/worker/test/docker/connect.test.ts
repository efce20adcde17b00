import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { explainContainerEnd } from "../../src/sandboxes/docker/engine/container-end.ts";
import { EngineError } from "../../src/sandboxes/docker/engine/errors.ts";
import { until } from "../sandboxes/sandbox-support.ts";
import { importBusybox, importEmptyImage, openSharedEngine, startStub } from "./docker-support.ts";
import { canRunEngines, startDocker } from "./test-engine.ts";

async function errorOf(call: Promise<unknown>): Promise<EngineError> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (error instanceof EngineError) return error;
  throw new Error("no EngineError", { cause: error });
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrider-connect-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("a connection to an engine", () => {
  it("explains an engine that does not run", async () => {
    const socket = join(makeFolder(), "none.sock");
    const error = await errorOf(openEngine({ host: `unix://${socket}` }));
    expect(error.code).toBe("unreachable");
    expect(error.message).toBe(
      `The container engine at unix://${socket} does not respond: connect ENOENT ${socket}. Start Docker or Podman, or set OUTRIDER_DOCKER_HOST (--docker-host) to its address.`,
    );
  });

  it.each([
    ["ssh://host", "has an unknown form. Set OUTRIDER_DOCKER_HOST (--docker-host) to unix:///path"],
    ["unix://relative", "must contain the absolute path of a socket"],
    ["tcp://user:hunter2@127.0.0.1:1", "must not contain a password"],
  ])("rejects the address %s", async (host, problem) => {
    const { message } = await errorOf(openEngine({ host }));
    expect(message).toContain(problem);
    expect(message).not.toContain("hunter2");
  });

  it("uses TCP without TLS only on this machine", async () => {
    const error = await errorOf(openEngine({ host: "tcp://192.0.2.1:2375" }));
    expect(error.code).toBe("tls");
    expect(error.message).toContain("must be used with TLS");
    const missing = join(makeFolder(), "certificates");
    const { message } = await errorOf(openEngine({ host: "tcp://192.0.2.1:2376", certPath: missing }));
    expect(message).toContain(`${missing}/ca.pem cannot be read (ENOENT).`);
  });

  it("does not use an engine that is too old, or a server that is no engine", async () => {
    const serve = async (body: string) => {
      const server = createServer((_, response) => response.end(body)).listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const old = await errorOf(openEngine({ host: await serve('{"ApiVersion":"1.40"}') }));
    expect(old.code).toBe("unsupported_version");
    expect(old.message).toContain("its API has version 1.40, and 1.41 is needed");
    const { message } = await errorOf(openEngine({ host: await serve("hello") }));
    expect(message).toContain("is not the address of a container engine");
  });

  it("fails a call whose response does not come in time", async () => {
    const host = await startStub(() => {});
    const { docker } = await openEngine({ host, timeoutMs: 3_000 });
    const error = await errorOf(docker.info());
    expect(error.code).toBe("timeout");
    expect(error.message).toContain("did not respond within 3 s");
  });

  it("fails a call whose connection breaks in the middle of the response", async () => {
    const host = await startStub((_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("{", () => response.destroy());
    });
    const { docker } = await openEngine({ host });
    expect((await errorOf(docker.info())).code).toBe("unreachable");
    expect((await errorOf(docker.getContainer("x").wait())).code).toBe("unreachable");
  });

  it("does not interrupt an upload that makes progress", async () => {
    const host = await startStub(async (request, response) => {
      for await (const _ of request);
      response.end();
    });
    const timeoutMs = 1_000;
    const { docker } = await openEngine({ host, timeoutMs });
    // An upload has five times the limit of other calls, and this one takes longer.
    async function* chunks() {
      for (let count = 0; count < 60; count++) {
        yield Buffer.alloc(1);
        await new Promise((resolve) => setTimeout(resolve, timeoutMs / 10));
      }
    }
    await docker.getContainer("x").putArchive(Readable.from(chunks()), { path: "/" });
  });
});

describe.skipIf(!canRunEngines)("a connection to Docker", () => {
  it("uses TLS with the certificates of both sides", async () => {
    const folder = makeFolder();
    makeCertificates(folder);
    const port = 20_000 + (process.pid % 10_000);
    const file = (name: string) => join(folder, `${name}.pem`);
    const server = await startDocker({
      args: [
        ...[`--host=tcp://127.0.0.1:${port}`, "--tlsverify", `--tlscacert=${file("ca")}`],
        ...[`--tlscert=${file("server-cert")}`, `--tlskey=${file("server-key")}`],
      ],
    });
    onTestFinished(() => server.stop());
    const host = `tcp://localhost:${port}`;
    const { docker } = await openEngine({ host, certPath: folder });
    expect(await docker.listContainers()).toEqual([]);
    const other = makeFolder();
    makeCertificates(other);
    const error = await errorOf(openEngine({ host, certPath: other }));
    expect(error.code).toBe("tls");
    expect(error.message).toContain("Check ca.pem, cert.pem and key.pem");
  });

  it("survives an engine that hangs, is killed and restarts", async () => {
    const server = await startDocker();
    onTestFinished(() => server.stop());
    const { docker } = await openEngine({ host: server.host, timeoutMs: 3_000 });
    await server.pause();
    expect((await errorOf(docker.info())).code).toBe("timeout");
    await server.resume();
    const events = (await docker.getEvents()) as Readable;
    const ended = new Promise((resolve) => events.on("error", () => {}).on("close", resolve));
    events.resume();
    await server.kill();
    await ended;
    expect((await errorOf(docker.info())).code).toBe("unreachable");
    await server.start();
    expect((await docker.info()).Containers).toBe(0);
  });

  it("explains a socket that this user must not use", async () => {
    const server = await startDocker();
    onTestFinished(() => server.stop());
    chmodSync(server.socketPath, 0o600);
    const script = `
      const { openEngine } = await import(${JSON.stringify(join(import.meta.dirname, "../../src/sandboxes/docker/engine/connect.ts"))});
      await openEngine({ host: ${JSON.stringify(server.host)} }).catch((error) => console.log(error.code, error.message));`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      ...{ uid: 65_534, gid: 65_534, encoding: "utf8", env: {} },
    });
    expect(stdout).toMatch(/^forbidden This user must not use the container engine's socket unix:/);
  });
});

describe.skipIf(!canRunEngines || !existsSync("/usr/bin/busybox"))("an error of Docker", () => {
  it("says what is wrong with a container", async () => {
    const engine = await openSharedEngine();
    const { docker } = engine;
    const create = (Image: string, HostConfig: object, Cmd = ["true"]) =>
      docker.createContainer({ Image, Cmd, HostConfig: { NetworkMode: "none", ...HostConfig } });
    expect((await errorOf(create("127.0.0.1:1/none", {}))).code).toBe("image_not_found");
    const image = await importEmptyImage(engine);
    expect((await errorOf(create(image, { Runtime: "none" }))).code).toBe("runtime_unknown");
    expect((await errorOf(docker.getContainer("none").inspect())).code).toBe("not_found");
  });

  it("says why a container has ended", async () => {
    const engine = await openSharedEngine();
    const { docker } = engine;
    const image = await importBusybox(engine);
    const run = async (Cmd: string[]) => {
      const container = await docker.createContainer({
        ...{ Image: image, Cmd, HostConfig: { NetworkMode: "none", Memory: 2 ** 24, MemorySwap: 2 ** 24 } },
      });
      await container.start();
      return container;
    };
    const explain = async ({ id }: { id: string }) => await explainContainerEnd(docker, id);
    const killed = await run(["sleep", "1000000"]);
    expect((await explain(killed)).message).toContain("the container still runs");
    await killed.kill();
    await killed.wait();
    expect((await explain(killed)).message).toContain("was stopped from outside");
    await killed.remove();
    expect((await explain(killed)).message).toContain("Somebody removed the container");
    // Sometimes Docker does not notice why a container was killed.
    await until(async () => {
      const hungry = await run(["tail", "-c", "100000000", "/dev/zero"]);
      await hungry.wait();
      const { code } = await explain(hungry);
      await hungry.remove();
      return code === "out_of_memory";
    });
    const failed = await run(["sh", "-c", "exit 3"]);
    await failed.wait();
    expect((await explain(failed)).message).toContain("ended with exit code 3");
    await failed.remove();
  });
});

/** Writes ca.pem, cert.pem and key.pem for a client, and server-cert.pem and server-key.pem for the engine. */
function makeCertificates(folder: string): void {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...newKey, "-keyout", "ca-key.pem", "-out", "ca.pem", "-subj", "/CN=test-ca");
  const sign = ["-x509", "-CA", "ca.pem", "-CAkey", "ca-key.pem"];
  for (const [prefix, name] of [
    ["", "client"],
    ["server-", "localhost"],
  ]) {
    openssl(
      ...["req", ...sign, ...newKey, "-keyout", `${prefix}key.pem`, "-out", `${prefix}cert.pem`],
      ...["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost"],
      ...["-addext", "extendedKeyUsage=clientAuth,serverAuth"],
    );
  }
}
