import { type BadRequest, create, get, refusedAs } from "./case.ts";

const unauthenticated = refusedAs("authentication_required");
const notAllowed = refusedAs("not_authorized");
const hidden = refusedAs("resource_not_found");

const run = create({ prompt: "SAY: hello" });
const withKey = (key: string | null, headers: Record<string, string | string[] | null> = {}) => ({
  ...run,
  key,
  headers,
});
const authorization = (value: string | string[]) => withKey(null, { authorization: value });

const keys: BadRequest[] = [
  unauthenticated("no key", withKey(null), { says: "Send `Authorization: Bearer KEY`" }),
  unauthenticated("no key, for reading", get("/agent/runs", { key: null })),
  unauthenticated("no key, for an unknown run", get("/agent/runs/not-a-uuid", { key: null })),
  unauthenticated("no key, with a body that is no JSON", { ...withKey(null), body: "{" }),
  unauthenticated("no key, for stats", ({ server }) => ({ ...get(`${server.origin}/metrics`), key: null })),
  unauthenticated("an empty header", authorization("")),
  unauthenticated("a name and a password", authorization("Basic YWRtaW46YWRtaW4=")),
  unauthenticated("an empty bearer", authorization("Bearer ")),
  unauthenticated("a bearer of spaces", authorization("Bearer    ")),
  unauthenticated("a malformed key", authorization("Bearer secret")),
  unauthenticated("a key without the word", ({ server }) => authorization(server.key)),
  unauthenticated("a key with something behind it", ({ server }) => authorization(`Bearer ${server.key} x`)),
  unauthenticated("a key that is cut", ({ server }) => withKey(server.key.slice(0, -1)), {
    says: "malformed",
  }),
  unauthenticated("a key with a wrong checksum", ({ server }) => withKey(mistyped(server.key)), {
    says: "malformed",
  }),
  unauthenticated("a key of another kind", ({ server }) => withKey(server.key.replace("orp_", "ora_")), {
    says: "malformed",
  }),
  unauthenticated("a key in bytes that are not ASCII", authorization("Bearer orp_\xe9")),
  unauthenticated("a well-formed key that nobody has", ({ key }) => withKey(key.forgotten), {
    says: "unknown, expired or revoked",
  }),
  unauthenticated("an expired key", ({ key }) => withKey(key.expired), {
    says: "unknown, expired or revoked",
  }),
  unauthenticated("a revoked key", ({ key }) => withKey(key.revoked), {
    says: "unknown, expired or revoked",
  }),
  unauthenticated("the key of a deleted cloud agent", ({ key }) => withKey(key.orphaned)),
  unauthenticated("two different keys", ({ server, key }) =>
    authorization([`Bearer ${server.key}`, `Bearer ${key.member}`]),
  ),
  unauthenticated("a key twice", ({ server }) =>
    authorization([`Bearer ${server.key}`, `Bearer ${server.key}`]),
  ),
];

function mistyped(key: string): string {
  return key.slice(0, 10) + (key[10] === "a" ? "b" : "a") + key.slice(11);
}

const environment = { method: "POST", path: "/agent/environments", body: { name: "mine" } };
const secret = { method: "PUT", path: "/agent/secrets/MINE", body: { value: "long enough" } };
const personal = { method: "POST", path: "/keys", body: { name: "mine", type: "personal" } };
const bot = { method: "POST", path: "/agent/identities", body: { name: "bot" } };

const rights: BadRequest[] = [
  notAllowed("a worker key that creates", ({ key }) => withKey(key.worker), { says: "cannot be used here" }),
  notAllowed("a worker key that reads", ({ key }) => get("/agent/runs", { key: key.worker })),
  notAllowed("a reading key that creates", ({ key }) => withKey(key.reader), { says: "`runs:write`" }),
  notAllowed("a reading key that cancels", ({ key, run }) => ({
    method: "POST",
    path: `/agent/runs/${run.queued}/cancel`,
    key: key.reader,
  })),
  notAllowed("a reading key that makes keys", ({ key }) => ({ ...personal, key: key.reader })),
  notAllowed("a member who makes an environment", ({ key }) => ({ ...environment, key: key.member })),
  notAllowed("a member who replaces an environment", ({ key, environment: { usable } }) => ({
    method: "PUT",
    path: `/agent/environments/${usable}`,
    body: { name: "mine" },
    key: key.member,
  })),
  notAllowed("a member who deletes an environment", ({ key, environment: { usable } }) => ({
    method: "DELETE",
    path: `/agent/environments/${usable}`,
    key: key.member,
  })),
  notAllowed("a member who lists secrets", ({ key }) => get("/agent/secrets", { key: key.member })),
  notAllowed("a member who stores a secret", ({ key }) => ({ ...secret, key: key.member })),
  notAllowed("a member who reads stats", ({ key, server }) =>
    get(`${server.origin}/metrics`, { key: key.member }),
  ),
  notAllowed("an admin's key without `admin`", ({ key }) => ({ ...environment, key: key.writer }), {
    says: "`admin`",
  }),
  notAllowed("an agent key that makes an environment", ({ key }) => ({ ...environment, key: key.agent })),
  notAllowed("an agent key that makes a key", ({ key }) => ({ ...personal, key: key.agent }), {
    says: "Use a personal key",
  }),
  notAllowed("an agent key that lists keys", ({ key }) => get("/keys", { key: key.agent })),
  notAllowed("an agent key that makes a cloud agent", ({ key }) => ({ ...bot, key: key.agent })),
  notAllowed("an agent key that deletes its cloud agent", ({ key, cloudAgent }) => ({
    method: "DELETE",
    path: `/agent/identities/${cloudAgent.usable}`,
    key: key.agent,
  })),
  notAllowed("somebody else who deletes a cloud agent", ({ key, cloudAgent }) => ({
    method: "DELETE",
    path: `/agent/identities/${cloudAgent.usable}`,
    key: key.other,
  })),
  notAllowed("a member who makes a worker key", ({ key }) => ({
    ...personal,
    body: { name: "mine", type: "worker" },
    key: key.member,
  })),
  notAllowed("a key with limits that makes keys", ({ key }) => ({ ...personal, key: key.limited })),
];

const steering = (method: string, path: string, body?: object) => ({
  method,
  path,
  ...(body ? { body } : {}),
});

const otherUserssRuns: BadRequest[] = [
  notAllowed("a member who cancels somebody else's run", ({ key, run }) => ({
    ...steering("POST", `/agent/runs/${run.ofMember}/cancel`),
    key: key.other,
  })),
  notAllowed("a member who follows up somebody else's run", ({ key, run }) => ({
    ...steering("POST", `/agent/runs/${run.ofMember}/followups`, { message: "stop" }),
    key: key.other,
  })),
  notAllowed("a member who deletes somebody else's run", ({ key, run }) => ({
    ...steering("DELETE", `/agent/runs/${run.succeeded}`),
    key: key.other,
  })),
  notAllowed("a member who cancels a run of somebody else's cloud agent", ({ key, run }) => ({
    ...steering("POST", `/agent/runs/${run.ofAgent}/cancel`),
    key: key.other,
  })),
  notAllowed("a member who changes somebody else's follow-up", ({ key, run, followup }) => ({
    ...steering("PATCH", `/agent/runs/${run.queued}/followups/${followup.queued}`, { message: "stop" }),
    key: key.other,
  })),
  hidden("an agent key that reads somebody else's run", ({ key, run }) =>
    get(`/agent/runs/${run.ofMember}`, { key: key.agent }),
  ),
  hidden("an agent key that reads somebody else's events", ({ key, run }) =>
    get(`/agent/runs/${run.ofMember}/events`, { key: key.agent }),
  ),
  hidden("an agent key that reads somebody else's follow-ups", ({ key, run }) =>
    get(`/agent/runs/${run.queued}/followups`, { key: key.agent }),
  ),
  hidden("an agent key that cancels somebody else's run", ({ key, run }) => ({
    ...steering("POST", `/agent/runs/${run.ofMember}/cancel`),
    key: key.agent,
  })),
  hidden("an agent key that deletes somebody else's run", ({ key, run }) => ({
    ...steering("DELETE", `/agent/runs/${run.succeeded}`),
    key: key.agent,
  })),
];

export const accessCases: BadRequest[] = [...keys, ...rights, ...otherUserssRuns];
