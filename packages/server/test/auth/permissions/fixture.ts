import { createHash, randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import { type GitHubStub, startGitHubStub } from "../../forges/github-stub.ts";
import { type TestServer, testServer } from "../../server.ts";

/**
 * Everything that the requests name. It belongs to the member's cloud agent and is in the environment `home`, so that
 * every kind of caller has another relation to it: the agent itself, its owner, other members, other agents and admins.
 */
export interface Fixture {
  server: TestServer;
  github: GitHubStub;
  /** A connected forge, and a proposal of the worker for one of its repositories. */
  /** A model provider. */
  provider: string;
  newProvider(): Promise<string>;
  forge: { forge_id: string; url: string; proposal: string };
  environment: { home: string; elsewhere: string };
  agent: string;
  run: string;
  artifact: string;
  publication: { runId: string; publicationId: string };
  attachment: string;
  followup: string;
  build: { build_id: string; token: string };
  proposal: string;
  /** A request for files that the worker has taken. */
  fileRequest: string;
  /** A shell of the admin that waits for a worker, and one that the worker holds. */
  shell: string;
  heldShell: { shell_id: string; token: string };
  secret: string;
  /** A shared view and a template of the member. */
  view: string;
  template: string;
  user: string;
  key: string;
  worker: { worker_id: string; name: string; version: string; slots: number };
  /** A worker of another key, which no run needs. */
  spareWorker: string;
  execution: string;
  keys: {
    member: string;
    other: string;
    agent: string;
    otherAgent: string;
    worker: string;
    otherWorker: string;
  };
  newRun(): Promise<string>;
  newEndedRun(): Promise<string>;
  newFollowup(): Promise<string>;
  /** Creates a publication of a new run that awaits approval. */
  newPublication(): Promise<Fixture["publication"]>;
  newQueuedPublication(): Promise<string>;
  newTakenPublication(): Promise<{ publication_id: string; token: string }>;
  newAgent(): Promise<string>;
  newKey(body: object, key?: string): Promise<{ key: string; key_id: string }>;
  newEnvironment(): Promise<string>;
  newSecret(): Promise<string>;
  newView(): Promise<string>;
  newTemplate(): Promise<string>;
  newUser(): Promise<string>;
  newExecution(): Promise<{ run: string; execution: string }>;
  newShell(): Promise<string>;
  newForge(): Promise<string>;
  newManifest(): Promise<{ manifestId: string; code: string; state: string }>;
}

const CONTENT = "the content of an artifact";
const sha256 = createHash("sha256").update(CONTENT).digest("hex");

export async function createFixture(): Promise<Fixture> {
  // Leases outlast the test, so that no run is recovered meanwhile.
  const github = await startGitHubStub();
  await github.addRepository("acme/api");
  const server = await testServer({
    OUTRIDER_ALLOW_ADDRESSES: "127.0.0.1",
    OUTRIDER_LEASE_SECONDS: "600",
    OUTRIDER_TURN_TIMEOUT_MINUTES: "600",
    OUTRIDER_MAX_SHELLS_PER_USER: "1000",
  });
  const call = async (method: string, path: string, body?: unknown, key = server.key) => {
    const reply = await server.call(method, path, { key, ...(body === undefined ? {} : { body }) });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.text}`);
    return reply.body;
  };
  const newKey: Fixture["newKey"] = (body, key) =>
    call("POST", "/keys", { name: "test", type: "personal", ...body }, key);
  const newEnvironment = async (): Promise<string> =>
    (
      await call("POST", "/agent/environments", {
        name: "environment",
        setup_commands: ["make"],
        repos: [{ url: "https://git.test/acme/api.git", secret: "TOKEN" }],
      })
    ).environment_id;
  await call("PUT", "/agent/secrets/TOKEN", { value: "user:token" });
  const environment = { home: await newEnvironment(), elsewhere: await newEnvironment() };

  const member = await server.user("member@example.com");
  const other = await server.user("other@example.com");
  const newAgent = async (owner = member): Promise<string> =>
    (await call("POST", "/agent/identities", { name: "agent" }, owner)).uid;
  const agent = await newAgent();
  const agentKey = async (agent_uid: string, owner = member) =>
    (await newKey({ type: "agent", agent_uid }, owner)).key;
  const keys = {
    member,
    other,
    agent: await agentKey(agent),
    otherAgent: await agentKey(await newAgent(other), other),
    worker: (await newKey({ type: "worker" })).key,
    otherWorker: (await newKey({ type: "worker" })).key,
  };

  const asWorker = (path: string, body: object) => call("POST", `/worker${path}`, body, keys.worker);
  const worker = { worker_id: randomUUID(), name: "worker", version: "0", slots: 1_000 };
  const claim = (free: number) => asWorker("/claim", { request_id: randomUUID(), worker, free, wait_ms: 0 });
  const spareWorker = randomUUID();
  const spare = { ...worker, worker_id: spareWorker };
  await call("POST", "/worker/heartbeat", { worker: spare, executions: [] }, keys.otherWorker);

  // No run waits yet, so the worker gets the build.
  await call("POST", `/agent/environments/${environment.home}/builds`);
  const [build] = (await claim(1)).builds;

  const newShell = async (): Promise<string> => {
    const { shell_id } = await call("POST", `/agent/environments/${environment.home}/shells`, {});
    // Clients that send nothing for a minute lose their shell.
    await server.db`update shells set client_seen_at = outrider_now() + interval '1 hour' where shell_id = ${shell_id}`;
    return shell_id;
  };
  await newShell();
  const claimShell = { request_id: randomUUID(), worker, free: 1, wait_ms: 0, takes_shells: true };
  const [heldShell] = (await asWorker("/claim", claimShell)).shells;

  const attachments = [{ file_name: "a.txt", mime_type: "text/plain", data: "aGk=" }];
  const newRun = async (more: object = {}): Promise<string> => {
    const config = { environment_id: environment.home };
    return (await call("POST", "/agent/run", { prompt: "SAY: hi", config, ...more }, keys.agent)).run_id;
  };
  // Executions are created one after the other, because a claim also gets the runs of others.
  let lastExecution: Promise<unknown> = Promise.resolve();
  const newExecution: Fixture["newExecution"] = () => {
    const created = lastExecution.then(createExecution);
    lastExecution = created.catch(() => {});
    return created;
  };
  const createExecution = async () => {
    const run = await newRun({ attachments });
    const { executions } = await claim(1_000);
    const { execution_id } = executions.find(({ run_id }: { run_id: string }) => run_id === run);
    return { run, execution: execution_id };
  };
  const { run, execution } = await newExecution();
  const [{ attachment_id }] =
    (await server.db`select attachment_id from attachments where run_id = ${run}`) as [
      { attachment_id: string },
    ];
  const artifact = randomUUID();
  const file = { type: "FILE", name: "a.txt", mime_type: "text/plain", size_bytes: CONTENT.length, sha256 };
  await fetch(`${server.base}/worker/blobs/${sha256}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${keys.worker}` },
    body: CONTENT,
  });
  await asWorker(`/executions/${execution}/report`, {
    ...{ run_id: run, batch: 1, events: [], usage: zeroUsage, deliver: false },
    artifacts: [{ artifact_id: artifact, ...file }],
  });
  const newPublication = async (own?: { run: string; execution: string }) => {
    const held = own ?? (await newExecution());
    const commits = [
      {
        ...{
          path: "api",
          base_commit: "a".repeat(40),
          tip: randomUUID().replaceAll("-", "").padEnd(40, "0"),
        },
        ...{ bundle: { sha256, size_bytes: CONTENT.length }, commits: 1, has_more_files: false },
        ...{ files: [{ path: "Jenkinsfile", status: "modified" }], diff_bytes: 1, secrets: [], problems: [] },
      },
    ];
    const request = { run_id: held.run, request_id: randomUUID(), trigger: "push", commits };
    const { publications } = await asWorker(`/executions/${held.execution}/publications`, request);
    return { runId: held.run, publicationId: publications[0].publication_id as string };
  };
  const newQueuedPublication = async (): Promise<string> => {
    const { runId, publicationId } = await newPublication();
    await call("POST", `/agent/runs/${runId}/publications/${publicationId}/approve`, {});
    return publicationId;
  };
  const newTakenPublication: Fixture["newTakenPublication"] = async () => {
    const taken = await newQueuedPublication();
    return asWorker(`/publications/${taken}/take`, { worker_id: worker.worker_id });
  };
  const repository = { owner: "acme", repo: "api" };
  const { proposal_id } = await call("POST", "/agent/environment-proposals", { repository });
  await asWorker(`/proposals/${proposal_id}/take`, { worker_id: worker.worker_id });
  const connection = { type: "github", url: github.url, token: github.token };
  const { forge_id, host } = await call("POST", "/agent/forges", connection);
  const forgeUrl = `https://${host}/acme/api.git`;
  const { proposal_id: forgeProposal } = await call("POST", "/agent/environment-proposals", {
    repository: { url: forgeUrl },
  });
  await asWorker(`/proposals/${forgeProposal}/take`, { worker_id: worker.worker_id });
  // Answers all requests for files at once, as a worker would.
  await server.db.unsafe(`
    create function answer_file_request() returns trigger language plpgsql as $$
    begin
      if new.state = 'QUEUED' then
        new.state := 'READY';
        new.finished_at := outrider_now();
        new.outcome := case new.kind
          when 'list' then '{"type": "listed", "entries": [], "is_truncated": false}'::jsonb
          else (select jsonb_build_object('type', 'read', 'sha256', sha256, 'size_bytes', size_bytes)
            from artifacts where artifact_id = '${artifact}')
        end;
      end if;
      return new;
    end $$;
    create trigger answer_file_requests before insert on file_requests
      for each row execute function answer_file_request()`);
  const fileRequest = randomUUID();
  await server.db`
    insert into file_requests (request_id, run_id, requested_by, kind, path, source, state, worker_id)
    values (${fileRequest}, ${run}, ${randomUUID()}, 'list', '', 'sandbox', 'READING', ${worker.worker_id})`;
  const newForge = async (): Promise<string> => {
    const id = randomUUID();
    await server.db`
      insert into forges (forge_id, type, host, url, api_url, auth, login, sealed, created_by)
      select ${id}, type, ${id}, url, api_url, auth, login, sealed, created_by from forges where forge_id = ${forge_id}`;
    return id;
  };
  const newProvider = async (): Promise<string> => {
    const name = `provider-${randomUUID().slice(0, 8)}`;
    await call("PUT", `/agent/model-providers/${name}`, {
      type: "openai-compatible",
      base_url: "http://127.0.0.1:9/v1",
    });
    return name;
  };
  const newManifest: Fixture["newManifest"] = async () => {
    const { manifest_id, action_url } = await call("POST", "/agent/forge-app-manifests", {
      url: github.url,
    });
    const state = new URL(action_url).searchParams.get("state") as string;
    return { manifestId: manifest_id, code: github.newManifestCode(), state };
  };
  const newFollowup = async (): Promise<string> =>
    (await call("POST", `/agent/runs/${run}/followups`, { message: "more", mode: "queue" }, keys.agent))
      .followup_id;
  const newSecret = async () => {
    const name = `SECRET_${randomUUID().replaceAll("-", "")}`;
    await call("PUT", `/agent/secrets/${name}`, { value: "long enough" });
    return name;
  };
  const newView = async (): Promise<string> =>
    (await call("POST", "/agent/views", { name: "view", is_shared: true }, member)).view_id;
  const newTemplate = async (): Promise<string> => {
    const config = { environment_id: environment.home };
    const body = { name: randomUUID(), prompt: "SAY: hi", config };
    return (await call("POST", "/agent/templates", body, member)).template_id;
  };
  const newUser = async (): Promise<string> => {
    const body = { email: `${randomUUID()}@example.com`, display_name: "User" };
    return (await call("POST", "/users", body)).user.uid;
  };
  return {
    server,
    github,
    forge: { forge_id, url: forgeUrl, proposal: forgeProposal },
    newForge,
    newManifest,
    provider: await newProvider(),
    newProvider,
    environment,
    agent,
    run,
    artifact,
    attachment: attachment_id,
    followup: await newFollowup(),
    publication: await newPublication({ run, execution }),
    build,
    proposal: proposal_id,
    fileRequest,
    shell: await newShell(),
    heldShell,
    secret: await newSecret(),
    view: await newView(),
    template: await newTemplate(),
    user: await newUser(),
    key: (await newKey({}, member)).key_id,
    worker,
    spareWorker,
    execution,
    keys,
    newRun,
    async newEndedRun() {
      const ended = await newRun();
      await call("POST", `/agent/runs/${ended}/cancel`, undefined, keys.agent);
      return ended;
    },
    newFollowup,
    newPublication: () => newPublication(),
    newQueuedPublication,
    newTakenPublication,
    newAgent: () => newAgent(),
    newKey,
    newEnvironment,
    newSecret,
    newView,
    newTemplate,
    newUser,
    newExecution,
    newShell,
  };
}
