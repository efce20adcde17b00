import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addForgeCredentials } from "../../src/builds/forge-credentials.ts";
import { repositoryOf } from "../../src/builds/repository-contents.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { connectToServer, type ServerClient } from "../../src/server-client/server-client.ts";

/** Credentials of connected forges, from a server that answers as the API does. */

const signal = new AbortController().signal;
const forge_id = randomUUID();
const requests: unknown[] = [];
let http: Server;
let server: ServerClient;
let problem: { status: number; detail: string } | undefined;

beforeAll(async () => {
  http = createServer(async (request, response) => {
    const body = (await json(request)) as { url: string };
    requests.push([request.url, body]);
    const answer = problem ?? { credential: `x-access-token:token-for-${body.url}` };
    response.writeHead(problem?.status ?? 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(http, "listening");
  server = connectToServer({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, key: "key" });
});
afterAll(() => {
  server.stop();
  http.close();
});

const worker_id = randomUUID();
const holder = { type: "execution", execution_id: randomUUID() } as const;
const options = () => ({ server, workerId: worker_id, holder, redactor: new Redactor([]), signal });
const environmentOf = (repos: AssignedEnvironment["repos"]) => ({
  repos,
  credentials: { OWN: "own:token" } as Record<string, string>,
});

test("are requested for the repositories without a secret of their own, and redacted", async () => {
  problem = undefined;
  const [a, b] = ["https://forge.example.com/o/a.git", "https://forge.example.com/o/b.git"];
  const environment = environmentOf([
    { url: a, path: "a", forge_id },
    { url: b, path: "b", forge_id },
    { url: "https://forge.example.com/o/c.git", path: "c", secret: "OWN" },
    { url: "https://other.example.com/o/d.git", path: "d" },
  ]);
  const all = options();
  all.redactor.redact("used before");
  await addForgeCredentials(environment, all);
  expect(requests).toHaveLength(2);
  expect(requests).toContainEqual([
    "/api/v1/worker/repository-credentials",
    { worker_id, forge_id, url: a, holder },
  ]);
  const sources = environment.repos.map((repo) => repositoryOf(repo, environment.credentials));
  expect(sources).toMatchObject([
    { url: a, credential: `x-access-token:token-for-${a}`, sharedBy: `forge ${forge_id}` },
    { url: b, credential: `x-access-token:token-for-${b}`, sharedBy: `forge ${forge_id}` },
    { credential: "own:token", sharedBy: "OWN" },
    { url: "https://other.example.com/o/d.git" },
  ]);
  expect(sources[3]).not.toHaveProperty("credential");
  expect(all.redactor.redact(`token-for-${a}`)).toBe("***");
});

test("that the forge has revoked are an error that says what to do", async () => {
  problem = { status: 409, detail: "The token was revoked." };
  const url = "https://forge.example.com/o/a.git";
  const environment = environmentOf([{ url, path: "a", forge_id }]);
  await expect(addForgeCredentials(environment, options())).rejects.toMatchObject({
    code: "external_authentication_required",
    message: `There is no credential for ${url}: The token was revoked. An administrator can connect the forge again in the settings.`,
  });
});
