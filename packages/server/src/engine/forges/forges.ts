import type { Forge, ForgeRequest, ForgeTest } from "@outrider/contract/forge";
import { v7 as uuidv7 } from "uuid";
import { type ForgeClient, ForgeError, type RepositoryName } from "../../forges/forge-client.ts";
import { apiUrlOf, type ForgeAuth, openForgeClient } from "../../forges/open-client.ts";
import type { OutboundNetwork } from "../../outbound/outbound-network.ts";
import type { Db, Sql } from "../../store/connection/db.ts";
import {
  type ForgeRow,
  findForge,
  findForgesByHost,
  putForge,
  recordForgeTest,
  type StoredAuth,
  toForge,
} from "../../store/forges.ts";
import { ApiError, invalidField, notFound, unavailable } from "../api-error.ts";
import type { Vault } from "../auth/vault.ts";
import { parseRepositoryUrl, repositoryOf } from "./repository-urls.ts";

const defaultUrls = { github: "https://github.com", gitlab: "https://gitlab.com", gitea: "" };

/** The connected forges. Credentials are encrypted in the database and decrypted only for a client. */
export class Forges {
  #db: Db;
  #vault: Vault;
  #network: OutboundNetwork;
  /** A client keeps its connections and short-lived tokens, so it is opened again only if the forge has changed. */
  #clients = new Map<string, { version: string; client: Promise<ForgeClient> }>();

  constructor({ db, vault, network }: { db: Db; vault: Vault; network: OutboundNetwork }) {
    this.#db = db;
    this.#vault = vault;
    this.#network = network;
  }

  get network(): OutboundNetwork {
    return this.#network;
  }

  async clientFor(forgeId: string, sql: Sql = this.#db): Promise<ForgeClient> {
    const row = await findForge(sql, forgeId);
    if (!row) {
      this.#clients.delete(forgeId);
      throw notFound("forge");
    }
    const version = new Date(row.updated_at).toISOString() + row.sealed.toString("base64");
    const known = this.#clients.get(forgeId);
    if (known?.version === version) return known.client;
    const client = this.#open(row);
    this.#clients.set(forgeId, { version, client });
    return client;
  }

  #open({ type, host, url, api_url, sealed }: ForgeRow): Promise<ForgeClient> {
    const auth = JSON.parse(this.#vault.open(sealed, contextOf(host))) as ForgeAuth;
    return openForgeClient({ type, url, apiUrl: api_url }, { auth, network: this.#network });
  }

  /** Finds the forge that hosts a repository. The URL may also be one for ssh. */
  async findByUrl(
    sql: Sql,
    repositoryUrl: string,
  ): Promise<{ forgeId: string; repository: RepositoryName } | undefined> {
    return findForgeOf(sql, repositoryUrl);
  }

  /** Returns a credential for git, or undefined if no connected forge hosts the repository over https. */
  async credentialFor(
    repositoryUrl: string,
    { write }: { write: boolean },
  ): Promise<{ credential: string; expires_at?: string } | undefined> {
    if (!parseRepositoryUrl(repositoryUrl)?.isHttps) return undefined;
    const found = await this.findByUrl(this.#db, repositoryUrl);
    if (!found) return undefined;
    return (await this.clientFor(found.forgeId)).gitCredential(found.repository, { write });
  }

  /** Connects a forge with a token, which the forge must accept. */
  async connect(sql: Sql, { type, url: given, token }: ForgeRequest, createdBy: string): Promise<Forge> {
    const url = normalizeUrl(given ?? defaultUrls[type]);
    const address = { type, url, apiUrl: apiUrlOf(type, url) };
    const auth: ForgeAuth = { type: "token", token };
    const client = await openForgeClient(address, { auth, network: this.#network });
    const { login } = await client.identify().catch((error) => {
      throw connectError(error);
    });
    return this.store(sql, { ...address, auth, stored: { type: "token" }, login, createdBy });
  }

  async store(
    sql: Sql,
    forge: {
      type: ForgeRow["type"];
      url: string;
      apiUrl: string;
      auth: ForgeAuth;
      stored: StoredAuth;
      login: string;
      createdBy: string;
    },
  ): Promise<Forge> {
    const host = new URL(forge.url).host;
    const row = await putForge(sql, {
      forge_id: uuidv7(),
      type: forge.type,
      host,
      url: forge.url,
      api_url: forge.apiUrl,
      auth: forge.stored,
      login: forge.login,
      sealed: this.#vault.seal(JSON.stringify(forge.auth), contextOf(host)),
      created_by: forge.createdBy,
    });
    return toForge(row);
  }

  /** Tests the access to a repository and stores the result. */
  async test(sql: Sql, forgeId: string, repository: string): Promise<ForgeTest> {
    const client = await this.clientFor(forgeId, sql);
    const steps = await client.testAccess(parseFullName(repository));
    const test: ForgeTest = {
      repository,
      ok: steps.every(({ ok }) => ok),
      steps,
      tested_at: new Date().toISOString(),
    };
    await recordForgeTest(sql, forgeId, test);
    return test;
  }
}

/** Finds the forge that hosts a repository. */
export async function findForgeOf(
  sql: Sql,
  repositoryUrl: string,
): Promise<{ forgeId: string; repository: RepositoryName } | undefined> {
  const [found] = await findForgesOf(sql, [repositoryUrl]);
  return found;
}

/** Does the same for several URLs with one query. The result has one entry for each URL. */
export async function findForgesOf(
  sql: Sql,
  urls: string[],
): Promise<({ forgeId: string; repository: RepositoryName; isHttps: boolean } | undefined)[]> {
  const parsed = urls.map(parseRepositoryUrl);
  const hosts = [...new Set(parsed.flatMap((url) => url?.host ?? []))];
  const forges = hosts.length > 0 ? await findForgesByHost(sql, hosts) : [];
  return parsed.map((url) => {
    const forge = forges.find(({ host }) => host === url?.host);
    const repository = forge && url && repositoryOf(url.path, forge.url);
    return repository ? { forgeId: forge.forge_id, repository, isHttps: url.isHttps } : undefined;
  });
}

/** Splits `owner/name`, where the owner may be a path. */
export function parseFullName(fullName: string): RepositoryName {
  const slash = fullName.lastIndexOf("/");
  return { owner: fullName.slice(0, slash), name: fullName.slice(slash + 1) };
}

export function normalizeUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

function contextOf(host: string): string {
  return `forge ${host}`;
}

/** Reports an error of a forge to the caller of the API. */
export function toApiError(error: unknown): unknown {
  if (!(error instanceof ForgeError)) return error;
  const { code, message, isRetryable, retryAfterMs = 10_000 } = error;
  if (isRetryable) return unavailable(message, Math.ceil(retryAfterMs / 1_000));
  return new ApiError(code === "conflict" ? "conflict" : "operation_not_supported", message);
}

function connectError(error: unknown): unknown {
  if (!(error instanceof ForgeError)) return error;
  const reason = error.message.replace(/\.$/, "");
  if (error.code === "unauthorized" || (error.code === "forbidden" && !/private address|https/.test(reason)))
    return invalidField("/token", `was not accepted: ${reason}`);
  if (error.code === "rate_limited" || error.code === "server_error") return toApiError(error);
  return invalidField("/url", `cannot be used: ${reason}`);
}
