import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { registryFindings } from "../src/doctor/cluster.ts";

const environment = { OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1" };

/** Answers the start of an upload with this status. */
async function serve(status: number): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(request.method === "POST" ? status : 404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}/builds`;
}

test("doctor says whether builds can become images", async () => {
  expect(await registryFindings({}, environment)).toMatchObject([{ name: "build registry", state: "ok" }]);
  const name = await serve(202);
  expect(await registryFindings({ registry: { name } }, environment)).toMatchObject([
    { state: "ok", message: `${name} accepts images` },
  ]);
  const refusing = { registry: { name: await serve(403), credentials: "me:secret-1234" } };
  const [finding] = await registryFindings(refusing, environment);
  expect(finding).toMatchObject({
    state: "warn",
    message: expect.stringContaining("builds are restored from blobs"),
    remedy: expect.stringContaining("with the rights to pull and push"),
  });
  expect(JSON.stringify(finding)).not.toContain("secret-1234");
  expect(await registryFindings({ registry: { name: "builds" } }, environment)).toMatchObject([
    { state: "fail", remedy: expect.stringContaining("names no registry") },
  ]);
});

test("plain HTTP is only for addresses that the operator allows", async () => {
  const [finding] = await registryFindings({ registry: { name: await serve(202) } }, {});
  expect(finding).toMatchObject({
    state: "warn",
    remedy: expect.stringContaining("plain HTTP is not allowed"),
  });
});
