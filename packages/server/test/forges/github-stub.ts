import { createHash, createPublicKey, generateKeyPairSync, randomBytes, verify } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commitFile, createBareRepository, git, serveGit } from "./git-backend.ts";
import {
  checkRequest,
  checkResponse,
  exampleOf,
  findOperation,
  type GitHubOperation,
} from "./github-schemas.ts";

/*
 * A GitHub on a local port. It checks each request and its own responses with the schemas that GitHub publishes, and
 * collects what is wrong in `violations`. Repositories are real bare repositories, which git can clone and push to.
 * It is addressed as GitHub Enterprise: `${url}/api/v3`.
 */

// biome-ignore lint/suspicious/noExplicitAny: responses have every shape
type Json = any;
type Level = "read" | "write";

export interface StubPullRequest {
  number: number;
  title: string;
  body: string;
  head: string;
  base: string;
  state: "open" | "closed";
  draft: boolean;
  merged: boolean;
  labels: string[];
  reviewers: string[];
  updated_at: string;
}

export interface StubRepository {
  owner: string;
  name: string;
  folder: string;
  isArchived: boolean;
  labels: Set<string>;
  /** Permission by login. */
  collaborators: Record<string, "admin" | "write" | "read" | "none">;
  pulls: StubPullRequest[];
  comments: { number: number; id: number; user: string; body: string; created_at: string }[];
  reviews: { number: number; id: number; user: string; body: string; state: string; submitted_at: string }[];
  reviewComments: {
    number: number;
    id: number;
    user: string;
    body: string;
    path: string;
    line: number;
    created_at: string;
  }[];
  checkRuns: { id: number; name: string; status: string; conclusion: string | null; summary: string }[];
  statuses: { id: number; context: string; state: string; description: string }[];
}

export interface Fault {
  method?: string;
  /** Part of the path, such as `/pulls`. */
  path?: string;
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** How many requests fail. Default: 1. */
  times?: number;
  /** Whether the request takes effect before it fails. */
  takesEffect?: boolean;
}

export interface GitHubStub {
  url: string;
  apiUrl: string;
  /** A personal access token of the user `octocat`. */
  token: string;
  app: { id: number; slug: string; privateKey: string };
  /** The code that the manifest flow redirects with. Each works once. */
  newManifestCode(): string;
  repositories: Map<string, StubRepository>;
  addRepository(fullName: string): Promise<StubRepository>;
  requests: { method: string; path: string; query: string; body: Json; token: string }[];
  /** Deviations from GitHub's published schemas. Must stay empty. */
  violations: string[];
  failNext(fault: Fault): void;
  /** The token's and the app's permissions. Absent: all. */
  permissions?: Record<string, Level>;
  revokeToken(): void;
  expireInstallationTokens(): void;
  mintedTokens: { repositories: string[]; permissions: Record<string, Level> }[];
  merge(fullName: string, number: number): void;
  /** Stops listening, as if the forge were down. */
  pause(): Promise<void>;
  /** Listens on the same port again. */
  resume(): Promise<void>;
  close(): Promise<void>;
}

const allPermissions: Record<string, Level> = {
  contents: "write",
  pull_requests: "write",
  metadata: "read",
  checks: "read",
  statuses: "read",
  actions: "read",
};

/** Generated once, because it takes long. */
const keys = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});

interface Token {
  kind: "user" | "installation" | "app";
  repositories?: string[];
  permissions: Record<string, Level>;
  isValid: boolean;
}

export async function startGitHubStub(
  options: { tls?: { key: string | Buffer; cert: string | Buffer } } = {},
): Promise<GitHubStub> {
  const root = await mkdtemp(join(tmpdir(), "outrider-github-stub-"));
  const token = `ghp_${randomBytes(18).toString("hex")}`;
  const tokens = new Map<string, Token>([
    [token, { kind: "user", permissions: allPermissions, isValid: true }],
  ]);
  const codes = new Set<string>();
  const faults: (Fault & { left: number })[] = [];

  const listener: RequestListener = (request, response) => {
    handle(request, response).catch((error) => {
      stub.violations.push(`the stub failed: ${error.stack}`);
      response.writeHead(500).end();
    });
  };
  const open = async (port: number) => {
    const opened = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
    await new Promise<void>((done) => opened.listen(port, "127.0.0.1", done));
    return opened;
  };
  let server = await open(0);
  const { port } = server.address() as AddressInfo;
  const url = `${options.tls ? "https" : "http"}://127.0.0.1:${port}`;

  const stub: GitHubStub = {
    url,
    apiUrl: `${url}/api/v3`,
    token,
    app: { id: 4711, slug: "outrider-test", privateKey: keys.privateKey },
    newManifestCode() {
      const code = randomBytes(20).toString("hex");
      codes.add(code);
      return code;
    },
    repositories: new Map(),
    async addRepository(fullName) {
      const [owner = "", name = ""] = fullName.split("/");
      const folder = join(root, owner, `${name}.git`);
      await mkdir(join(root, owner), { recursive: true });
      await createBareRepository(folder);
      const repository: StubRepository = {
        owner,
        name,
        folder,
        isArchived: false,
        labels: new Set(["bug"]),
        collaborators: { octocat: "admin" },
        pulls: [],
        comments: [],
        reviews: [],
        reviewComments: [],
        checkRuns: [],
        statuses: [],
      };
      stub.repositories.set(fullName, repository);
      return repository;
    },
    requests: [],
    violations: [],
    failNext: (fault) => faults.push({ ...fault, left: fault.times ?? 1 }),
    revokeToken: () => invalidate("user"),
    expireInstallationTokens: () => invalidate("installation"),
    mintedTokens: [],
    merge(fullName, number) {
      const pull = stub.repositories.get(fullName)?.pulls.find((item) => item.number === number);
      Object.assign(pull ?? {}, { state: "closed", merged: true, updated_at: now() });
    },
    async pause() {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
    async resume() {
      server = await open(port);
    },
    async close() {
      await stub.pause().catch(() => {});
      await rm(root, { recursive: true, force: true });
    },
  };
  return stub;

  function invalidate(kind: Token["kind"]) {
    for (const item of tokens.values()) if (item.kind === kind) item.isValid = false;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    if (pathname.startsWith("/logs/")) {
      if (request.headers.authorization) stub.violations.push("a signed URL was called with a credential");
      response.end("2026-01-01T00:00:00.0000000Z the test failed\n");
      return;
    }
    if (!pathname.startsWith("/api/v3/")) return handleGit(request, response, pathname);
    const path = pathname.slice("/api/v3".length);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text === "" ? undefined : JSON.parse(text);
    const method = request.method ?? "GET";
    const credential = (request.headers.authorization ?? "").replace(/^(bearer|token) /i, "");
    stub.requests.push({ method, path, query: searchParams.toString(), body, token: credential });
    const operation = findOperation(method, path);
    if (!operation) {
      stub.violations.push(`GitHub has no operation ${method} ${path}`);
      return void response.writeHead(404).end();
    }
    stub.violations.push(...checkRequest(operation, { query: searchParams, body }));
    if (!request.headers["user-agent"]) stub.violations.push(`${method} ${path} has no user-agent`);
    const fault = faults.find(
      (item) => item.left > 0 && (item.method ?? method) === method && path.includes(item.path ?? ""),
    );
    if (fault) fault.left--;
    const reply =
      fault && !fault.takesEffect
        ? { status: fault.status, body: fault.body ?? { message: "fault" } }
        : await answer(operation, { query: searchParams, body: body ?? {}, credential });
    if (!fault) stub.violations.push(...checkResponse(operation, reply));
    send(request, response, fault ? { ...reply, status: fault.status, headers: fault.headers ?? {} } : reply);
  }

  function send(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
    const text = reply.body === undefined ? "" : JSON.stringify(reply.body);
    const etag = `W/"${createHash("sha256").update(text).digest("hex")}"`;
    const isCached = request.method === "GET" && reply.status === 200;
    const headers = {
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "4999",
      ...(isCached ? { etag } : {}),
      ...(text ? { "content-type": "application/json; charset=utf-8" } : {}),
      ...reply.headers,
    };
    if (isCached && request.headers["if-none-match"] === etag)
      return void response.writeHead(304, headers).end();
    response.writeHead(reply.status, headers).end(text);
  }

  async function handleGit(request: IncomingMessage, response: ServerResponse, pathname: string) {
    const [, owner = "", name = ""] = /^\/([^/]+)\/([^/]+)\.git\//.exec(pathname) ?? [];
    const basic = Buffer.from((request.headers.authorization ?? "").slice(6), "base64").toString();
    const held = tokens.get(basic.slice(basic.indexOf(":") + 1));
    const service = new URL(request.url ?? "/", url).searchParams.get("service") ?? pathname;
    const level = service.includes("receive-pack") ? "write" : "read";
    const isKnown = stub.repositories.has(`${owner}/${name}`);
    if (!held?.isValid) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="GitHub"' }).end();
    } else if (!isKnown || (held.repositories && !held.repositories.includes(name))) {
      response.writeHead(404).end();
    } else if (!has(held, "contents", level)) response.writeHead(403).end();
    else serveGit(root, request, response);
  }

  function has({ permissions }: Token, name: string, level: Level): boolean {
    const granted = { ...permissions, ...(stub.permissions ? restrict(permissions) : {}) }[name];
    return granted === "write" || (level === "read" && granted === "read");
  }

  function restrict(permissions: Record<string, Level>): Record<string, Level | undefined> {
    return Object.fromEntries(
      Object.keys(permissions).map((name) => [name, stub.permissions?.[name]]),
    ) as Record<string, Level | undefined>;
  }

  interface Reply {
    status: number;
    body?: Json;
    headers?: Record<string, string>;
  }

  interface Received {
    query: URLSearchParams;
    body: Json;
    credential: string;
  }

  async function answer(operation: GitHubOperation, received: Received): Promise<Reply> {
    const { path, params } = operation;
    const id = `${operation.method} ${path}`;
    if (id === "post /app-manifests/{code}/conversions") return convertManifest(params.code ?? "");
    const isApp = path.startsWith("/app") || path.endsWith("/installation");
    const held = isApp ? authenticateApp(received.credential) : tokens.get(received.credential);
    if (!held?.isValid) return problem(401, "Bad credentials");
    if (isApp) return answerApp(id, params, received);
    if (id === "get /user") {
      if (held.kind !== "user") return problem(403, "Resource not accessible by integration");
      return { status: 200, body: fill("/user", "get", 200, { login: "octocat" }) };
    }
    if (id === "get /user/repos") {
      const page = Number(received.query.get("page") ?? 1);
      const all = page === 1 ? [...stub.repositories.values()].map((item) => minimal(item)) : [];
      return { status: 200, body: all };
    }
    if (id === "get /installation/repositories") {
      const all = [...stub.repositories.values()].map((item) => minimal(item));
      return { status: 200, body: { total_count: all.length, repositories: all } };
    }
    const repository = stub.repositories.get(`${params.owner}/${params.repo}`);
    if (!repository || (held.repositories && !held.repositories.includes(repository.name)))
      return problem(404, "Not Found");
    const [permission, level] = permissionOf(id);
    if (!has(held, permission, level)) {
      const refused = problem(403, "Resource not accessible by personal access token");
      return { ...refused, headers: { "x-accepted-github-permissions": `${permission}=${level}` } };
    }
    return answerRepository(id, { repository, params, ...received });
  }

  function authenticateApp(jwt: string): Token | undefined {
    const [head = "", payload = "", signature = ""] = jwt.split(".");
    const key = createPublicKey(keys.publicKey);
    const isSigned = verify(
      "RSA-SHA256",
      Buffer.from(`${head}.${payload}`),
      key,
      Buffer.from(signature, "base64url"),
    );
    const claims = isSigned ? JSON.parse(Buffer.from(payload, "base64url").toString()) : {};
    const isValid = claims.iss === stub.app.id && claims.exp - claims.iat <= 660;
    return isValid ? { kind: "app", permissions: {}, isValid } : undefined;
  }

  function convertManifest(code: string): Reply {
    if (!codes.delete(code)) return problem(404, "Not Found");
    const { id, slug, privateKey } = stub.app;
    const values = { id, slug, pem: privateKey, html_url: `${url}/apps/${slug}` };
    return { status: 201, body: fill("/app-manifests/{code}/conversions", "post", 201, values) };
  }

  function answerApp(id: string, params: Record<string, string>, { body }: Received): Reply {
    const { slug } = stub.app;
    const { user: account } = exampleOf("/repos/{owner}/{repo}/pulls/{pull_number}", "get", 200);
    const installation = {
      id: 99,
      account,
      suspended_at: null,
      permissions: stub.permissions ?? allPermissions,
    };
    switch (id) {
      case "get /app":
        return { status: 200, body: fill("/app", "get", 200, { id: stub.app.id, slug }) };
      case "get /app/installations":
        // The published schema of this list demands an account that is a user and an enterprise.
        return {
          status: 200,
          body: [{ ...exampleOf("/app/installations", "get", 200)[0], ...installation, account: null }],
        };
      case "get /repos/{owner}/{repo}/installation":
        if (!stub.repositories.has(`${params.owner}/${params.repo}`)) return problem(404, "Not Found");
        return { status: 200, body: fill("/repos/{owner}/{repo}/installation", "get", 200, installation) };
      case "post /app/installations/{installation_id}/access_tokens":
        return mint(body);
      default:
        return problem(404, "Not Found");
    }
  }

  function mint({ repositories = [], permissions = {} }: Json): Reply {
    const granted: Record<string, Level> = stub.permissions ?? allPermissions;
    const isTooMuch = Object.entries(permissions).some(
      ([name, level]) => granted[name] !== level && granted[name] !== "write",
    );
    if (isTooMuch) return problem(422, "The permissions requested are not granted to this installation.");
    const minted = `ghs_${randomBytes(18).toString("hex")}`;
    tokens.set(minted, {
      kind: "installation",
      permissions,
      isValid: true,
      ...(repositories.length > 0 ? { repositories } : {}),
    });
    stub.mintedTokens.push({ repositories, permissions });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    return {
      status: 201,
      body: { token: minted, expires_at, permissions, repository_selection: "selected" },
    };
  }

  function permissionOf(id: string): [string, Level] {
    if (/check-runs/.test(id)) return ["checks", "read"];
    if (/\/status$/.test(id)) return ["statuses", "read"];
    if (/\/actions\//.test(id)) return ["actions", "read"];
    const level = id.startsWith("get ") ? "read" : "write";
    if (/\/(git|contents)\//.test(id)) return ["contents", level];
    if (/\/(pulls|issues|labels)/.test(id)) return ["pull_requests", level];
    return ["metadata", "read"];
  }

  async function answerRepository(
    id: string,
    {
      repository,
      params,
      query,
      body,
    }: Received & { repository: StubRepository; params: Record<string, string> },
  ): Promise<Reply> {
    const number = Number(params.pull_number ?? params.issue_number);
    const pull = repository.pulls.find((item) => item.number === number);
    const route = id.replace(" /repos/{owner}/{repo}", " ");
    const isRecent = (time: string) => Date.parse(time) >= Date.parse(query.get("since") ?? "1970-01-01");
    const onPage = <T>(items: T[]) => {
      const size = Number(query.get("per_page") ?? 30);
      const page = Number(query.get("page") ?? 1);
      return items.slice((page - 1) * size, page * size);
    };
    if (/\{(pull|issue)_number\}/.test(id) && !pull) return problem(404, "Not Found");
    switch (route) {
      case "get ":
        return { status: 200, body: fullRepository(repository) };
      case "get /pulls": {
        const branch = query.get("head")?.split(":")[1];
        const state = query.get("state") ?? "open";
        const found = repository.pulls.filter(
          (item) =>
            (branch === undefined || item.head === branch) && (state === "all" || item.state === state),
        );
        return {
          status: 200,
          body: await Promise.all(found.toReversed().map((item) => simplePull(repository, item))),
        };
      }
      case "post /pulls":
        return createPull(repository, body);
      case "get /pulls/{pull_number}":
        return { status: 200, body: await fullPull(repository, pull as StubPullRequest) };
      case "patch /pulls/{pull_number}": {
        if (body.state === "open" && pull?.merged) return invalid("Cannot reopen a merged pull request");
        Object.assign(pull as StubPullRequest, body, { updated_at: now() });
        return { status: 200, body: await fullPull(repository, pull as StubPullRequest) };
      }
      case "get /labels/{name}":
        if (!repository.labels.has(params.name ?? "")) return problem(404, "Not Found");
        return {
          status: 200,
          body: fill("/repos/{owner}/{repo}/labels/{name}", "get", 200, { name: params.name }),
        };
      case "post /issues/{issue_number}/labels": {
        pull?.labels.push(...body.labels);
        const [example] = exampleOf("/repos/{owner}/{repo}/issues/{issue_number}/labels", "post", 200);
        return { status: 200, body: body.labels.map((name: string) => ({ ...example, name })) };
      }
      case "post /pulls/{pull_number}/requested_reviewers": {
        const unknown = body.reviewers.some((login: string) => !(login in repository.collaborators));
        if (unknown) return invalid("Reviews may only be requested from collaborators.");
        pull?.reviewers.push(...body.reviewers);
        return { status: 201, body: await simplePull(repository, pull as StubPullRequest) };
      }
      case "get /issues/{issue_number}/comments": {
        const [example] = exampleOf("/repos/{owner}/{repo}/issues/{issue_number}/comments", "get", 200);
        const found = repository.comments.filter(
          (item) => item.number === number && isRecent(item.created_at),
        );
        return {
          status: 200,
          body: onPage(found).map(({ id: commentId, user, body: text, created_at }) => ({
            ...example,
            id: commentId,
            body: text,
            user: { ...example.user, login: user, type: user.endsWith("[bot]") ? "Bot" : "User" },
            created_at,
          })),
        };
      }
      case "get /pulls/{pull_number}/reviews": {
        const [example] = exampleOf("/repos/{owner}/{repo}/pulls/{pull_number}/reviews", "get", 200);
        const found = repository.reviews.filter((item) => item.number === number);
        return {
          status: 200,
          body: onPage(found).map(({ id: reviewId, user, body: text, state, submitted_at }) => ({
            ...example,
            id: reviewId,
            body: text,
            state,
            user: { ...example.user, login: user },
            submitted_at,
          })),
        };
      }
      case "get /pulls/{pull_number}/comments": {
        const [example] = exampleOf("/repos/{owner}/{repo}/pulls/{pull_number}/comments", "get", 200);
        const found = repository.reviewComments.filter(
          (item) => item.number === number && isRecent(item.created_at),
        );
        return {
          status: 200,
          body: onPage(found).map(({ id: commentId, user, body: text, path, line, created_at }) => ({
            ...example,
            id: commentId,
            body: text,
            path,
            line,
            user: { ...example.user, login: user },
            created_at,
          })),
        };
      }
      case "get /collaborators/{username}/permission": {
        const permission = repository.collaborators[params.username ?? ""] ?? "read";
        const template = "/repos/{owner}/{repo}/collaborators/{username}/permission";
        return {
          status: 200,
          body: fill(template, "get", 200, { permission, role_name: permission, user: null }),
        };
      }
      case "get /commits/{ref}/check-runs": {
        const example = exampleOf("/repos/{owner}/{repo}/commits/{ref}/check-runs", "get", 200);
        const runs = repository.checkRuns.map(({ summary, ...run }) => ({
          ...example.check_runs[0],
          ...run,
          app: { ...example.check_runs[0].app, slug: "github-actions" },
          output: { ...example.check_runs[0].output, title: null, summary, text: null },
        }));
        return { status: 200, body: { total_count: runs.length, check_runs: runs } };
      }
      case "get /commits/{ref}/status": {
        const example = exampleOf("/repos/{owner}/{repo}/commits/{ref}/status", "get", 200);
        const statuses = repository.statuses.map((item) => ({ ...example.statuses[0], ...item }));
        return { status: 200, body: { ...example, statuses, total_count: statuses.length } };
      }
      case "get /actions/jobs/{job_id}/logs":
        return { status: 302, headers: { location: `${url}/logs/${params.job_id}` } };
      case "get /git/ref/{ref}":
        return readRef(repository, params.ref ?? "");
      case "post /git/refs":
        return createRef(repository, body);
      case "delete /git/refs/{ref}":
        await git(repository.folder, "update-ref", "-d", `refs/${params.ref}`);
        return { status: 204 };
      case "put /contents/{path}": {
        const content = Buffer.from(body.content, "base64").toString();
        const file = {
          branch: body.branch ?? "main",
          path: params.path ?? "",
          content,
          message: body.message,
        };
        await commitFile(repository.folder, file);
        return { status: 201, body: exampleOf("/repos/{owner}/{repo}/contents/{path}", "put", 201) };
      }
      default:
        stub.violations.push(`the stub does not implement ${id}`);
        return problem(404, "Not Found");
    }
  }

  async function createPull(repository: StubRepository, body: Json): Promise<Reply> {
    const { head, base, title, body: text = "", draft = false } = body;
    const exists = async (branch: string) =>
      git(repository.folder, "rev-parse", "--verify", "-q", `refs/heads/${branch}`).then(
        () => true,
        () => false,
      );
    for (const [field, branch] of [
      ["head", head],
      ["base", base],
    ])
      if (!(await exists(branch)))
        return invalid(undefined, {
          resource: "PullRequest",
          field,
          code: "invalid",
          message: `${field} is invalid`,
        });
    if (repository.pulls.some((item) => item.head === head && item.base === base && item.state === "open"))
      return invalid(`A pull request already exists for ${repository.owner}:${head}.`);
    const pull: StubPullRequest = {
      number: repository.pulls.length + 1,
      ...{ title, body: text, head, base, draft },
      ...{ state: "open", merged: false, labels: [], reviewers: [], updated_at: now() },
    };
    repository.pulls.push(pull);
    return { status: 201, body: await fullPull(repository, pull) };
  }

  async function readRef({ folder }: StubRepository, ref: string): Promise<Reply> {
    const sha = await git(folder, "rev-parse", "--verify", "-q", `refs/${ref}`).catch(() => undefined);
    if (!sha) return problem(404, "Not Found");
    const template = "/repos/{owner}/{repo}/git/ref/{ref}";
    const example = exampleOf(template, "get", 200);
    return { status: 200, body: { ...example, ref: `refs/${ref}`, object: { ...example.object, sha } } };
  }

  async function createRef({ folder }: StubRepository, { ref, sha }: Json): Promise<Reply> {
    if (await git(folder, "rev-parse", "--verify", "-q", ref).catch(() => undefined))
      return problem(422, "Reference already exists");
    await git(folder, "update-ref", ref, sha);
    const example = exampleOf("/repos/{owner}/{repo}/git/refs", "post", 201);
    return { status: 201, body: { ...example, ref, object: { ...example.object, sha } } };
  }

  async function pullFields(repository: StubRepository, pull: StubPullRequest, example: Json) {
    const { owner, name, folder } = repository;
    const sha = await git(folder, "rev-parse", "--verify", "-q", `refs/heads/${pull.head}`).catch(() =>
      "0".repeat(40),
    );
    return {
      number: pull.number,
      html_url: `${url}/${owner}/${name}/pull/${pull.number}`,
      title: pull.title,
      body: pull.body,
      state: pull.state,
      draft: pull.draft,
      merged_at: pull.merged ? pull.updated_at : null,
      updated_at: pull.updated_at,
      requested_teams: [],
      head: { ...example.head, ref: pull.head, sha, label: `${owner}:${pull.head}`, repo: example.base.repo },
      base: { ...example.base, ref: pull.base, label: `${owner}:${pull.base}` },
    };
  }

  async function fullPull(repository: StubRepository, pull: StubPullRequest): Promise<Json> {
    const example = exampleOf("/repos/{owner}/{repo}/pulls/{pull_number}", "get", 200);
    return {
      ...example,
      ...(await pullFields(repository, pull, example)),
      merged: pull.merged,
      mergeable: true,
    };
  }

  async function simplePull(repository: StubRepository, pull: StubPullRequest): Promise<Json> {
    const [example] = exampleOf("/repos/{owner}/{repo}/pulls", "get", 200);
    return { ...example, ...(await pullFields(repository, pull, example)) };
  }

  function names({ owner, name, isArchived }: StubRepository) {
    return {
      name,
      full_name: `${owner}/${name}`,
      default_branch: "main",
      archived: isArchived,
      language: null,
    };
  }

  function minimal(repository: StubRepository): Json {
    const [example] = exampleOf("/user/repos", "get", 200);
    return { ...example, ...names(repository), permissions: { ...example.permissions, push: true } };
  }

  function fullRepository(repository: StubRepository): Json {
    const { source, parent, ...example } = exampleOf("/repos/{owner}/{repo}", "get", 200);
    const push = (stub.permissions ?? allPermissions).contents === "write";
    return { ...example, ...names(repository), permissions: { ...example.permissions, push } };
  }

  function fill(path: string, method: string, status: number, values: object): Json {
    return { ...exampleOf(path, method, status), ...values };
  }

  function problem(status: number, message: string): Reply {
    return {
      status,
      body: { message, documentation_url: "https://docs.github.com/rest", status: String(status) },
    };
  }

  function invalid(message: string | undefined, error?: object): Reply {
    const item = error ?? { resource: "PullRequest", code: "custom", message };
    const reply = problem(422, "Validation Failed");
    return { ...reply, body: { ...reply.body, errors: [item] } };
  }

  function now(): string {
    // GitHub's times have no fractions.
    return new Date().toISOString().replace(/\.\d+Z$/, "Z");
  }
}
