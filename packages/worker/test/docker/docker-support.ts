import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type Engine, openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { importEntries } from "../../src/sandboxes/docker/volumes/system-image.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import { sharedDocker } from "./shared-docker.ts";

export async function openSharedEngine(): Promise<Engine> {
  return await openEngine({ host: await sharedDocker() });
}

/** An installation of its own, so that a test finds only its own objects. */
export const newOwner = (): Owner => ({ installation: `test-${randomUUID()}`, worker: randomUUID() });

/** Imports a small image whose containers cannot be started. */
export async function importEmptyImage(engine: Engine): Promise<string> {
  const entries = [{ path: "mnt", mode: 0o755, content: { type: "folder" as const } }];
  return await importEntries(engine, { name: `outrider-empty:${randomUUID()}`, entries, labels: {} });
}

/** Imports an image whose only program is busybox of this machine. */
export async function importBusybox(engine: Engine): Promise<string> {
  const source = "/usr/bin/busybox";
  const names = execFileSync(source, ["--list"], { encoding: "utf8" }).trim().split("\n");
  const folders = ["bin", "tmp", "workspace"].map((path) => ({
    ...{ path, mode: 0o777, content: { type: "folder" as const } },
  }));
  const links = names
    .filter((name) => name !== "busybox")
    .map((name) => ({
      ...{ path: `bin/${name}`, mode: 0o777, content: { type: "link" as const, target: "busybox" } },
    }));
  const { size } = statSync(source);
  const busybox = { path: "bin/busybox", mode: 0o755, content: { type: "file" as const, source, size } };
  const entries = [...folders, busybox, ...links];
  return await importEntries(engine, { name: `outrider-busybox:${randomUUID()}`, entries, labels: {} });
}

/** Starts an engine that answers as a test says, for what a real one rarely does. */
export async function startStub(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    if (!request.url?.endsWith("/version")) return listener(request, response);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ Version: "20.10.24", ApiVersion: "1.41", MinAPIVersion: "1.12" }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
