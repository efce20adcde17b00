import type { KeyLimits, Scope } from "@outrider/contract/auth/key";
import type { Role } from "@outrider/contract/auth/user";
import { browser } from "../browser.ts";
import type { Fixture } from "./fixture.ts";

/** Someone who sends a request, and what determines the answer. */
export interface Caller {
  name: string;
  headers: Record<string, string>;
  /** `nobody` has no valid credentials. */
  kind: "nobody" | "user" | "agent" | "worker";
  /** The relation to the things in the fixture, which belong to the cloud agent `agent` of the user `member`. */
  identity?: "admin" | "member" | "other" | "agent" | "otherAgent" | "worker" | "otherWorker";
  role?: Role;
  scopes?: readonly Scope[];
  /** The environment that the key is limited to. */
  environment?: "home" | "elsewhere";
  hasLimits?: boolean;
  /** The request uses a browser's session but comes from another site. */
  isCrossSite?: boolean;
}

const adminScopes: Scope[][] = [
  ["runs:read"],
  ["runs:write"],
  ["admin"],
  ["runs:read", "runs:write"],
  ["runs:read", "admin"],
  ["runs:write", "admin"],
  ["runs:read", "runs:write", "admin"],
];
const memberScopes = adminScopes.filter((scopes) => !scopes.includes("admin"));

export async function createCallers(fixture: Fixture): Promise<Caller[]> {
  const { server, keys, agent, environment, newKey } = fixture;
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const nobody = (name: string, headers: Record<string, string>): Caller => ({
    name,
    headers,
    kind: "nobody",
  });

  const expired = await newKey({});
  await server.db`update keys set expires_at = outrider_now() where key_id = ${expired.key_id}`;
  const revoked = await newKey({});
  await server.call("DELETE", `/keys/${revoked.key_id}`);
  const revokedWorker = await newKey({ type: "worker" });
  await server.call("DELETE", `/keys/${revokedWorker.key_id}`);

  const admin = { kind: "user", identity: "admin", role: "admin" } as const;
  const member = { kind: "user", identity: "member", role: "member" } as const;
  const agentKeys = { kind: "agent", identity: "agent", role: "member" } as const;

  /** Creates keys of a user for each of several sets of scopes. */
  const keysFor = (who: Omit<Caller, "name" | "headers">, sets: Scope[][], key: string, body: object = {}) =>
    Promise.all(
      sets.map(async (scopes): Promise<Caller> => {
        const headers = bearer((await newKey({ ...body, scopes }, key)).key);
        return { ...who, name: `a key of the ${who.identity} with ${scopes.join(", ")}`, headers, scopes };
      }),
    );

  /** Creates a key with all scopes of its owner, and with limits. */
  const limited = async (
    who: Omit<Caller, "name" | "headers">,
    limits: KeyLimits,
    { key, body = {} }: { key: string; body?: object },
  ): Promise<Caller> => {
    const created = await newKey({ ...body, limits }, key);
    const scopes = who.role === "admin" ? adminScopes.at(-1) : memberScopes.at(-1);
    const [only] = limits.environment_ids ?? [];
    const where = only === environment.home ? "home" : "elsewhere";
    return {
      ...who,
      name: `a key of the ${who.identity} limited to ${only ? `the environment ${where}` : "a cost"}`,
      headers: bearer(created.key),
      hasLimits: true,
      ...(scopes ? { scopes } : {}),
      ...(only ? { environment: where } : {}),
    };
  };

  /** Signs a user in with a browser. */
  const session = async (who: Omit<Caller, "name" | "headers">, email: string): Promise<Caller[]> => {
    const { users } = (await server.call("GET", "/users")).body;
    const { uid } = users.find((user: { email: string }) => user.email === email);
    const { link } = (await server.call("POST", `/users/${uid}/link`)).body;
    const tab = browser(server);
    await tab.open(link);
    const scopes = who.role === "admin" ? adminScopes.at(-1) : memberScopes.at(-1);
    const caller = { ...who, ...(scopes ? { scopes } : {}) };
    const { cookie } = tab;
    return [
      { ...caller, name: `a session of the ${who.identity}`, headers: { cookie, origin: server.origin } },
      {
        ...caller,
        name: `a session of the ${who.identity} used by another site`,
        headers: { cookie, origin: "https://evil.example" },
        isCrossSite: true,
      },
    ];
  };

  const demoted = await server.user("demoted@example.com", "admin");
  await server.db`update users set role = 'member' where email = 'demoted@example.com'`;
  const agentBody = { type: "agent", agent_uid: agent };
  const elsewhere = { environment_ids: [environment.elsewhere] };
  const home = { environment_ids: [environment.home] };
  return [
    nobody("nobody", {}),
    nobody("a malformed key", bearer("orp_malformed")),
    nobody("an expired key", bearer(expired.key)),
    nobody("a revoked key", bearer(revoked.key)),
    nobody("a revoked worker key", bearer(revokedWorker.key)),
    nobody("an unknown session", { cookie: "outrider_session=unknown", origin: server.origin }),
    ...(await keysFor(admin, adminScopes, server.key)),
    ...(await keysFor(member, memberScopes, keys.member)),
    ...(await keysFor(agentKeys, memberScopes, keys.member, agentBody)),
    ...(await keysFor({ ...member, identity: "other" }, [["runs:read", "runs:write"]], keys.other)),
    {
      ...{ ...member, identity: "other", name: "a key of a demoted admin", headers: bearer(demoted) },
      scopes: ["runs:read", "runs:write", "admin"],
    },
    {
      ...{ ...agentKeys, identity: "otherAgent", name: "a key of another cloud agent" },
      ...{ headers: bearer(keys.otherAgent), scopes: ["runs:read", "runs:write"] },
    },
    { name: "a worker key", headers: bearer(keys.worker), kind: "worker", identity: "worker" },
    {
      name: "another worker key",
      headers: bearer(keys.otherWorker),
      kind: "worker",
      identity: "otherWorker",
    },
    ...(await session(admin, "admin@localhost")),
    ...(await session(member, "member@example.com")),
    await limited(admin, elsewhere, { key: server.key }),
    await limited(admin, home, { key: server.key }),
    await limited(admin, { max_cost_usd_per_day: 10 }, { key: server.key }),
    await limited(member, elsewhere, { key: keys.member }),
    await limited(member, home, { key: keys.member }),
    await limited(agentKeys, elsewhere, { key: keys.member, body: agentBody }),
    await limited(agentKeys, home, { key: keys.member, body: agentBody }),
  ];
}
