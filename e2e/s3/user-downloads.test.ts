import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Outrider } from "@outrider/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openRequestGate, type RequestGate } from "../../packages/server/test/blobs/request-gate.ts";
import { type S3Server, s3Environment, startS3Server } from "../../packages/server/test/blobs/s3-server.ts";
import { python } from "../clients/python.ts";
import { makeDataDir, outrider, removeDataDir } from "../process.ts";
import { startWebApp, type WebApp } from "../web/support/web-app.ts";

/** Users download large files from the bucket. The gate is the address of the bucket for users. */

const SIZE = 3_000_000;
const NAME = "größe 1.txt";

describe("downloads of large files in a bucket with an endpoint for users", () => {
  let s3: S3Server;
  let gate: RequestGate;
  let app: WebApp;
  let runId: string;
  let large: string;
  let small: string;
  const folder = makeDataDir();

  beforeAll(async () => {
    for (const [name, value] of Object.entries(s3Environment)) vi.stubEnv(name, value);
    s3 = await startS3Server();
    gate = await openRequestGate(s3.endpoint);
    app = await startWebApp({
      OUTRIDER_BLOBS: `s3://${await s3.newBucket()}/runs`,
      OUTRIDER_S3_ENDPOINT: s3.endpoint,
      // Another name than that of the server, because cookies belong to a name and not to a port.
      OUTRIDER_S3_PUBLIC_ENDPOINT: gate.url.replace("127.0.0.1", "localhost"),
    });
    await app.worker();
    runId = await app.create([
      `RUN: yes 0123456789 | head -c ${SIZE} > '${NAME}'; echo small > small.txt`,
      `CALL: keep_artifact {"path": "${NAME}"}`,
      'CALL: keep_artifact {"path": "small.txt"}',
      "SAY: done",
    ]);
    const { artifacts } = await app.until(runId, "SUCCEEDED");
    const idOf = (file: string) =>
      artifacts.find(({ name }: { name: string }) => name === file).artifact_id as string;
    [large, small] = [idOf(NAME), idOf("small.txt")];
  });
  afterAll(async () => {
    await app?.stop();
    gate?.close();
    await s3?.close();
    removeDataDir(folder);
    vi.unstubAllEnvs();
  });

  const content = Buffer.alloc(SIZE, "0123456789\n");
  const api = () => `${app.origin}/api/v1`;
  const addressOf = (artifactId: string) => `${api()}/agent/artifacts/${artifactId}/content`;
  const get = (address: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(address, { ...init, headers: { authorization: `Bearer ${app.key}`, ...headers } });

  /** Every request to the bucket since the last call had only its signature. Returns their number. */
  const expectNoCredentials = () => {
    const requests = gate.takeRequests();
    for (const { url, headers } of requests) {
      expect(url).toContain("X-Amz-Signature=");
      expect(headers).not.toHaveProperty("authorization");
      expect(headers).not.toHaveProperty("cookie");
      expect(JSON.stringify({ url, headers })).not.toContain(app.key);
    }
    return requests.length;
  };

  test("are redirected to a URL that is valid for a minute, for this file as an attachment", async () => {
    const redirect = await get(addressOf(large), {}, { redirect: "manual" });
    expect(redirect.status).toBe(307);
    expect(redirect.headers.get("cache-control")).toBe("no-store");
    const location = redirect.headers.get("location") as string;
    expect(location).toContain("X-Amz-Expires=60");
    const found = await fetch(location);
    expect(found.headers.get("content-type")).toBe("application/octet-stream");
    expect(found.headers.get("content-disposition")).toBe(
      "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe%201.txt",
    );
    expect(Buffer.from(await found.arrayBuffer()).equals(content)).toBe(true);
    const asPage = location.replace(
      /response-content-disposition=[^&]+/,
      "response-content-disposition=inline",
    );
    expect(asPage).not.toBe(location);
    expect((await fetch(asPage)).status).toBe(403);
    expect(gate.takeRequests().map(({ url }) => url)).toEqual(
      [location, asPage].map((text) => text.slice(new URL(text).origin.length)),
    );
  });

  test("work in part, and the server itself rejects parts that do not exist", async () => {
    const part = await get(addressOf(large), { range: "bytes=11-20" });
    expect([part.status, await part.text()]).toEqual([206, "0123456789"]);
    expect(part.headers.get("content-range")).toBe(`bytes 11-20/${SIZE}`);
    expect(expectNoCredentials()).toBe(1);
    const beyond = await get(addressOf(large), { range: `bytes=${SIZE}-` });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, `bytes */${SIZE}`]);
    expect(await beyond.json()).toMatchObject({ error_code: "range_not_satisfiable" });
    expect(gate.takeRequests()).toEqual([]);
  });

  test.each<[string, Record<string, string>, RequestInit?]>([
    ["conditional requests", { "if-none-match": '"other"' }],
    ["resumed downloads", { range: "bytes=11-", "if-range": '"other"' }],
    ["several ranges", { range: "bytes=0-1,4-5" }],
    ["HEAD", {}, { method: "HEAD" }],
    ["scripts in browsers", { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }],
    ["scripts of other origins", { origin: "https://example.com" }],
  ])("come from the server for %s", async (_, headers, init) => {
    const response = await get(addressOf(large), headers, { ...init, redirect: "error" });
    expect(response.status).toBe(200);
    const received = Buffer.from(await response.arrayBuffer());
    if (init?.method !== "HEAD") expect(received.equals(content)).toBe(true);
    expect(gate.takeRequests()).toEqual([]);
  });

  test("need a key, and small files come from the server", async () => {
    expect((await fetch(addressOf(large), { redirect: "error" })).status).toBe(401);
    expect(await (await get(addressOf(small), {}, { redirect: "error" })).text()).toBe("small\n");
    expect(gate.takeRequests()).toEqual([]);
  });

  test("work in the SDKs and the CLI, which do not send the key to the bucket", async () => {
    const client = new Outrider({ apiKey: app.key, baseURL: api() });
    expect(Buffer.from(await client.artifacts.content(large)).equals(content)).toBe(true);
    expect(expectNoCredentials()).toBe(1);

    const script = `
import asyncio, sys
from outrider import AsyncOutrider, Outrider

with Outrider() as client:
    print(len(client.artifacts.content("${large}")))
    with client.artifacts.with_streaming_response.content("${large}") as response:
        print(sum(len(chunk) for chunk in response.iter_bytes()))

async def main() -> None:
    async with AsyncOutrider() as client:
        print(len(await client.artifacts.content("${large}")))

asyncio.run(main())
`;
    const environment = { OUTRIDER_API_KEY: app.key, OUTRIDER_BASE_URL: api() };
    expect(await python({ args: ["-c", script], environment })).toBe(`${SIZE}\n`.repeat(3));
    expect(expectNoCredentials()).toBe(3);

    const target = join(folder, "downloaded");
    const { code, stderr } = await outrider(["artifact", "get", large, "--output", target], environment);
    expect(code, stderr).toBe(0);
    expect(readFileSync(target).equals(content)).toBe(true);
    expect(expectNoCredentials()).toBe(1);
  });

  test("come from the server for browsers that would send the session to a bucket on the same host", async () => {
    const { body: share } = await app.call("POST", `/agent/runs/${runId}/share`, { body: {} });
    const { pathname, port } = new URL(share.link);
    const open = async (host: string) => {
      const address = `http://${host}:${port}${pathname}/artifacts/${large}`;
      return (await fetch(address, { redirect: "manual", headers: { accept: "text/html" } })).status;
    };
    expect([await open("127.0.0.1"), await open("localhost")]).toEqual([307, 200]);
  });

  test("work in the web app, with and without a signed-in user, and previews come from the server", async () => {
    const { body: share } = await app.call("POST", `/agent/runs/${runId}/share`, { body: {} });
    for (const path of [`/runs/${runId}?tab=artifacts`, `${new URL(share.link).pathname}?tab=artifacts`]) {
      const { page, consoleErrors } = await app.visit(path, { signedIn: path.startsWith("/runs") });
      await page.getByRole("button", { name: `Preview of ${NAME}` }).click();
      await page
        .getByRole("region", { name: `Content of ${NAME}` })
        .getByText("0123456789")
        .waitFor();
      expect(gate.takeRequests()).toEqual([]);
      expect(consoleErrors).toEqual([]);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: `Download ${NAME}` }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(NAME);
      expect(readFileSync(await download.path()).equals(content)).toBe(true);
      expect(expectNoCredentials()).toBe(1);
    }
  });
});
