import { createHash, createHmac, createVerify, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AssignedModel } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openModel } from "../../src/models/open-model.ts";
import { ask } from "../providers.ts";
import { bedrockAnswer } from "../stub-model/cloud-server.ts";

/** Amazon Bedrock, Google Vertex AI and Azure OpenAI, against a server that checks how each request is authenticated. */

interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

let server: Server;
let origin: string;
let received: Received[] = [];
let respond: (request: Received, response: ServerResponse) => void = () => {};

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url: path = "", headers } = request;
    const entry = { method, path, headers, body: Buffer.concat(chunks).toString() };
    received.push(entry);
    respond(entry, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  received = [];
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function modelOf(provider: AssignedModel["provider"], more: Partial<AssignedModel>): AssignedModel {
  const name = "stub-model";
  return {
    ...{ provider, name, model_id: `${provider}/${name}`, context_tokens: 100_000, supports_images: true },
    base_url: origin,
    ...more,
  };
}

const answerOf = async (work: AssignedModel) => {
  const { result } = await ask(work, "Hello.");
  return result.type === "response" ? result.text : result;
};

/** Returns the URL and the headers of a call without sending it. */
async function intercept(work: AssignedModel): Promise<{ url: string; headers: Headers }[]> {
  const calls: { url: string; headers: Headers }[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    calls.push({ url: String(input), headers: new Headers(init?.headers) });
    return new Response("refused", { status: 401 });
  });
  await ask(work, "Hello.");
  vi.restoreAllMocks();
  return calls;
}

describe("Amazon Bedrock", () => {
  const keys = { access_key_id: "AKIASTUB01234567", secret_access_key: "stub-secret/0123456789+abcdef" };
  const bedrock = (more: Partial<AssignedModel> = {}) =>
    modelOf("amazon-bedrock", { cloud_settings: { region: "eu-west-1" }, credentials: keys, ...more });

  const sendAnswer = (response: ServerResponse) =>
    response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(bedrockAnswer);

  /** Returns the authorization that a request with these keys must have (AWS Signature Version 4). */
  function sign({ path, headers, body }: Received, secret: string): string {
    const [, scope = "", names = ""] =
      /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+),/.exec(headers.authorization ?? "") ?? [];
    const [date = "", region = "", service = ""] = scope.split("/");
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
    const lines = names.split(";").map((name) => `${name}:${headers[name]}\n`);
    const encodedPath = path.split("/").map(encodeURIComponent).join("/");
    const canonical = ["POST", encodedPath, "", lines.join(""), names, hash(body)].join("\n");
    const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hash(canonical)].join("\n");
    const key = [region, service, "aws4_request"].reduce(hmac, hmac(`AWS4${secret}`, date));
    return createHmac("sha256", key).update(toSign).digest("hex");
  }

  test("signs requests with the access key", async () => {
    respond = (request, response) => {
      const isSigned = request.headers.authorization?.endsWith(
        `Signature=${sign(request, keys.secret_access_key)}`,
      );
      if (isSigned) sendAnswer(response);
      else response.writeHead(403).end('{"message":"The signature does not match."}');
    };
    expect(await answerOf(bedrock())).toBe("Hello back.");
    const [{ path, headers } = {} as Received] = received;
    expect(path).toBe("/model/stub-model/converse-stream");
    expect(headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIASTUB01234567\/\d{8}\/eu-west-1\/bedrock\/aws4_request, /,
    );
    const withToken = bedrock({ credentials: { ...keys, session_token: "stub-session-token" } });
    expect(await answerOf(withToken)).toBe("Hello back.");
    expect(received.at(-1)?.headers["x-amz-security-token"]).toBe("stub-session-token");
    const wrong = await answerOf(bedrock({ credentials: { ...keys, secret_access_key: "another-secret" } }));
    expect(wrong).toMatchObject({ type: "failed" });
  });

  test("sends an API key as a bearer token", async () => {
    respond = (_, response) => sendAnswer(response);
    expect(await answerOf(bedrock({ api_key: "bedrock-api-key-stub", credentials: {} }))).toBe("Hello back.");
    expect(received[0]?.headers.authorization).toBe("Bearer bedrock-api-key-stub");
  });

  test("uses the region's address and nothing from the worker's environment", async () => {
    vi.stubEnv("AWS_BEARER_TOKEN_BEDROCK", "from-the-environment");
    vi.stubEnv("AWS_REGION", "us-east-1");
    vi.stubEnv("AWS_SESSION_TOKEN", "from-the-environment");
    const { base_url: _, ...work } = bedrock();
    const [{ url, headers } = { url: "", headers: new Headers() }] = await intercept(work);
    expect(url).toBe("https://bedrock-runtime.eu-west-1.amazonaws.com/model/stub-model/converse-stream");
    expect(JSON.stringify([...headers])).not.toContain("from-the-environment");
    expect(headers.get("authorization")).toContain("/eu-west-1/");
  });

  test("limits the size of an event, and follows no redirect", async () => {
    const large = Buffer.alloc(12);
    large.writeUInt32BE(100 * 2 ** 20);
    respond = (_, response) =>
      response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" }).end(large);
    expect(await answerOf(bedrock())).toMatchObject({
      type: "failed",
      error: { message: expect.stringContaining("has an event of more than 2097152 bytes") },
    });
    received = [];
    respond = (_, response) => response.writeHead(307, { location: `${origin}/elsewhere` }).end();
    expect(await answerOf(bedrock())).toMatchObject({ type: "failed" });
    expect(received.filter(({ path }) => path === "/elsewhere")).toEqual([]);
  });

  test("is not available without a region", async () => {
    await expect(openModel(bedrock({ cloud_settings: {} }))).rejects.toThrow("has no region");
  });
});

describe("Google Vertex AI", () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const vertex = (more: Partial<AssignedModel> = {}) =>
    modelOf("google-vertex", {
      cloud_settings: {
        ...{ project: "acme", location: "europe-west4", client_email: "agent@acme.iam.example" },
        token_url: `${origin}/token`,
      },
      credentials: { private_key: privateKey },
      ...more,
    });

  function isValidAssertion(assertion: string): boolean {
    const [header = "", claims = "", signature = ""] = assertion.split(".");
    const { iss, aud, scope, exp, iat } = JSON.parse(Buffer.from(claims, "base64url").toString());
    const isSigned = createVerify("RSA-SHA256")
      .update(`${header}.${claims}`)
      .verify(publicKey, signature, "base64url");
    const isScoped = scope === "https://www.googleapis.com/auth/cloud-platform" && exp - iat === 3_600;
    return isSigned && isScoped && iss === "agent@acme.iam.example" && aud === `${origin}/token`;
  }

  const serve = ({ path, headers, body }: Received, response: ServerResponse) => {
    if (path === "/token") {
      const isValid = isValidAssertion(new URLSearchParams(body).get("assertion") ?? "");
      if (!isValid) return response.writeHead(401).end('{"error":"invalid_grant"}');
      const token = { access_token: "stub-access-token", expires_in: 3_600, token_type: "Bearer" };
      return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(token));
    }
    if (headers.authorization !== "Bearer stub-access-token" || headers["x-goog-api-key"])
      return response.writeHead(401).end("{}");
    const content = { role: "model", parts: [{ text: "Hello back." }] };
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
    const event = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
    return response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(`data: ${JSON.stringify(event)}\n\n`);
  };

  test("exchanges a signed request for a token and uses it for several calls", async () => {
    respond = serve;
    const work = vertex();
    const model = await openModel(work);
    for (let call = 0; call < 2; call++) {
      const { result } = await ask(work, "Hello.", { model });
      expect(result).toMatchObject({ type: "response", text: "Hello back." });
    }
    expect(received.map(({ path }) => path.replace(/\?.*/, ""))).toEqual([
      "/token",
      ...Array(2).fill(
        "/v1beta1/projects/acme/locations/europe-west4/publishers/google/models/stub-model:streamGenerateContent",
      ),
    ]);
  });

  test("reports a refused token, and quotes no key", async () => {
    respond = (_, response) =>
      response.writeHead(401).end(`{"error":"invalid_grant","key":${JSON.stringify(privateKey)}}`);
    const failed = await answerOf(vertex());
    expect(failed).toMatchObject({ type: "failed", error: { code: expect.stringMatching(/^model_/) } });
    expect(JSON.stringify(failed)).not.toContain("PRIVATE KEY");
    expect(received.map(({ path }) => path)).toEqual(["/token"]);
  });

  test.each([
    ["europe-west4", "https://europe-west4-aiplatform.googleapis.com/"],
    ["global", "https://aiplatform.googleapis.com/"],
    ["eu", "https://aiplatform.eu.rep.googleapis.com/"],
  ])("uses the address of the location %s and Google's token server", async (location, address) => {
    vi.stubEnv("GOOGLE_VERTEX_API_KEY", "from-the-environment");
    const { base_url: _, ...work } = vertex({
      cloud_settings: { project: "acme", location, client_email: "agent@acme.iam.example" },
    });
    const urls: string[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      urls.push(String(input));
      if (urls.length > 1) return new Response("{}", { status: 401 });
      return Response.json({ access_token: "stub-access-token", expires_in: 3_600 });
    });
    await ask(work, "Hello.");
    expect(urls[0]).toBe("https://oauth2.googleapis.com/token");
    expect(urls[1]).toContain(
      `${address}v1beta1/projects/acme/locations/${location}/publishers/google/models/stub-model:`,
    );
  });
});

describe("Azure OpenAI", () => {
  const azure = (more: Partial<AssignedModel> = {}) =>
    modelOf("azure", { cloud_settings: { resource_name: "acme-ai" }, api_key: "azure-key-stub", ...more });

  test.each([
    ["responses", "https://acme-ai.openai.azure.com/openai/v1/responses"],
    ["chat", "https://acme-ai.openai.azure.com/openai/v1/chat/completions"],
  ] as const)("sends the key to the resource's address, with the API %s", async (api, expected) => {
    vi.stubEnv("AZURE_API_KEY", "from-the-environment");
    vi.stubEnv("AZURE_RESOURCE_NAME", "elsewhere");
    const { base_url: _, ...work } = azure({ api });
    const [{ url, headers } = { url: "", headers: new Headers() }] = await intercept(work);
    expect(url.replace(/\?.*/, "")).toBe(expected);
    expect(headers.get("api-key")).toBe("azure-key-stub");
    expect(headers.get("authorization")).toBeNull();
  });

  test("reads an answer", async () => {
    respond = ({ headers }, response) => {
      if (headers["api-key"] !== "azure-key-stub") return response.writeHead(401).end("{}");
      const delta = (content: object, finish_reason: string | null) => ({
        ...{ id: "1", object: "chat.completion.chunk", created: 1, model: "stub" },
        choices: [{ index: 0, delta: content, finish_reason }],
      });
      const events = [delta({ role: "assistant", content: "Hello back." }, null), delta({}, "stop")];
      const data = [...events.map((event) => JSON.stringify(event)), "[DONE]"];
      return response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(data.map((event) => `data: ${event}\n\n`).join(""));
    };
    expect(await answerOf(azure({ api: "chat" }))).toBe("Hello back.");
    expect(JSON.parse(received[0]?.body ?? "{}")).toMatchObject({ model: "stub-model", stream: true });
  });
});
