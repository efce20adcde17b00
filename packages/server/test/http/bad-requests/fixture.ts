import { type TestServer, testServer } from "../../server.ts";

/** Everything that bad requests point at: keys of every kind, runs in several states, things that are gone. */
export interface Fixture {
  server: TestServer;
  key: {
    member: string;
    other: string;
    agent: string;
    worker: string;
    reader: string;
    writer: string;
    limited: string;
    expiring: string;
    expired: string;
    revoked: string;
    forgotten: string;
    orphaned: string;
  };
  run: {
    queued: string;
    reopened: string;
    succeeded: string;
    failed: string;
    ofMember: string;
    ofAgent: string;
  };
  /** `awaited` is all that the reopened run waits for; the others are the queued run's. */
  followup: { queued: string; withdrawn: string; awaited: string };
  environment: { usable: string; other: string; deleted: string };
  cloudAgent: { usable: string; deleted: string };
  /** Of a list of all runs with one run a page. */
  cursor: string;
  usedIdempotencyKey: string;
}

export async function createFixture(): Promise<Fixture> {
  const server = await testServer();
  const made = async (path: string, body: object, key = server.key) => {
    const answer = await server.call("POST", path, { body, key });
    if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.text}`);
    return answer.body;
  };
  const run = async (key?: string) =>
    (await made("/agent/run", { prompt: "SAY: hello" }, key)).run_id as string;
  const environment = async (body: object) =>
    (await made("/agent/environments", body)).environment_id as string;

  const member = await server.user("member@example.com");
  const other = await server.user("other@example.com");
  await server.call("PUT", "/agent/secrets/DEPLOY_TOKEN", { body: { value: "long enough" } });
  await server.call("PUT", "/agent/secrets/OTHER_TOKEN", { body: { value: "long enough" } });
  const usable = await environment({ name: "usable", secrets: ["DEPLOY_TOKEN"] });
  const deleted = await environment({ name: "deleted" });
  await server.call("DELETE", `/agent/environments/${deleted}`);
  const elsewhere = await environment({ name: "other" });

  const cloudAgent = async () => (await made("/agent/identities", { name: "bot" }, member)).uid as string;
  const agents = { usable: await cloudAgent(), deleted: await cloudAgent() };
  const newKey = async (body: object, key?: string) =>
    (await made("/keys", { name: "test", type: "personal", ...body }, key)) as {
      key: string;
      key_id: string;
    };
  const agentKey = async (agent_uid: string) => (await newKey({ type: "agent", agent_uid }, member)).key;
  const orphaned = await agentKey(agents.deleted);
  await server.call("DELETE", `/agent/identities/${agents.deleted}`, { key: member });
  const expired = await newKey({});
  await server.db`update keys set expires_at = outrider_now() where key_id = ${expired.key_id}`;
  const revoked = await newKey({});
  await server.call("DELETE", `/keys/${revoked.key_id}`);
  const forgotten = await newKey({});
  await server.db`delete from keys where key_id = ${forgotten.key_id}`;
  const key = {
    member,
    other,
    agent: await agentKey(agents.usable),
    worker: (await newKey({ type: "worker" })).key,
    reader: (await newKey({ scopes: ["runs:read"] })).key,
    writer: (await newKey({ scopes: ["runs:read", "runs:write"] })).key,
    limited: (await newKey({ limits: { environment_ids: [usable] } })).key,
    expiring: (await newKey({ expires_at: "2100-01-01T00:00:00Z" })).key,
    expired: expired.key,
    revoked: revoked.key,
    forgotten: forgotten.key,
    orphaned,
  };

  const runs = {
    queued: await run(),
    reopened: await run(),
    succeeded: await run(),
    failed: await run(),
    ofMember: await run(member),
    ofAgent: await run(key.agent),
  };
  for (const [state, id] of [
    ["SUCCEEDED", runs.succeeded],
    ["FAILED", runs.failed],
  ] as const) {
    await server.db`update runs set state = ${state} where run_id = ${id}`;
    await server.db`update run_state set state = ${state}, phase = 'done' where run_id = ${id}`;
  }
  await server.call("POST", `/agent/runs/${runs.reopened}/cancel`);
  const followup = async (runId: string) =>
    (await made(`/agent/runs/${runId}/followups`, { message: "and more" })).followup_id as string;
  const followups = {
    queued: await followup(runs.queued),
    withdrawn: await followup(runs.queued),
    awaited: await followup(runs.reopened),
  };
  await server.call("DELETE", `/agent/runs/${runs.queued}/followups/${followups.withdrawn}`);

  const usedIdempotencyKey = "used-before";
  await server.call("POST", "/agent/run", {
    body: { prompt: "SAY: first" },
    headers: { "idempotency-key": usedIdempotencyKey },
  });
  const { body } = await server.call("GET", "/agent/runs?limit=1");
  return {
    server,
    key,
    run: runs,
    followup: followups,
    environment: { usable, other: elsewhere, deleted },
    cloudAgent: agents,
    cursor: body.page_info.next_cursor,
    usedIdempotencyKey,
  };
}
