import githubAppJwt from "universal-github-app-jwt";
import { ForgeError, type RepositoryName } from "./forge-client.ts";

export type GitHubAuth =
  | { type: "token"; token: string }
  | { type: "app"; appId: number; privateKey: string };

/** The permissions of an installation token, such as `{ contents: "read" }`. */
export type Permissions = Record<string, "read" | "write" | "admin">;

interface Installation {
  id: number;
  permissions: Permissions;
}

interface InstallationToken {
  token: string;
  expires_at: string;
}

/** Sends a request to the API without further authentication. */
type Send = (
  route: string,
  parameters: Record<string, unknown> & { headers?: Record<string, string> },
  action: string,
) => Promise<{ data: unknown }>;

/** A token is replaced this long before it expires. */
const MARGIN_MS = 5 * 60_000;
const MAX_CACHED = 500;

/**
 * The tokens of a GitHub App. Each is limited to one repository and the permissions that its use needs. Tokens for the
 * API stay in memory until shortly before they expire. Tokens for git are minted for each use.
 */
export class GitHubTokens {
  #auth: GitHubAuth;
  #send: Send;
  #installations = new Map<string, Installation>();
  #cached = new Map<string, InstallationToken>();

  constructor({ auth, send }: { auth: GitHubAuth; send: Send }) {
    this.#auth = auth;
    this.#send = send;
  }

  /** Returns a token that identifies the app itself. It is valid for ten minutes. */
  async jwt(): Promise<string> {
    if (this.#auth.type !== "app") throw new Error("The forge is not connected with an app.");
    const { appId, privateKey } = this.#auth;
    return (await githubAppJwt({ id: appId, privateKey })).token;
  }

  async installation({ owner, name }: RepositoryName): Promise<Installation> {
    const key = `${owner}/${name}`;
    const known = this.#installations.get(key);
    if (known) return known;
    const reply = await this.#send(
      "GET /repos/{owner}/{repo}/installation",
      { owner, repo: name, headers: { authorization: `Bearer ${await this.jwt()}` } },
      "find the installation of the app",
    ).catch((error: ForgeError) => {
      if (error.code !== "not_found") throw error;
      throw new ForgeError(
        "not_found",
        `The GitHub App is not installed in ${key}. Install it in this repository, on the page of the app.`,
      );
    });
    const { id, permissions, suspended_at } = reply.data as Installation & { suspended_at?: string | null };
    if (suspended_at)
      throw new ForgeError("forbidden", `The installation of the GitHub App in ${key} is suspended.`);
    const installation = { id, permissions };
    remember(this.#installations, key, installation);
    return installation;
  }

  async mint(
    installationId: number,
    { repository, permissions }: { repository?: string; permissions: Permissions },
  ): Promise<InstallationToken> {
    const reply = await this.#send(
      "POST /app/installations/{installation_id}/access_tokens",
      {
        installation_id: installationId,
        ...(repository === undefined ? {} : { repositories: [repository] }),
        permissions,
        headers: { authorization: `Bearer ${await this.jwt()}` },
      },
      `create a token with the permissions ${describe(permissions)}`,
    ).catch((error: ForgeError) => {
      if (error.code !== "invalid") throw error;
      throw new ForgeError(
        "forbidden",
        `The GitHub App lacks one of the permissions ${describe(permissions)}, or has no access to the repository. Grant them in the settings of the app, and accept the change in its installation.`,
      );
    });
    return reply.data as InstallationToken;
  }

  /** Returns a token for calls to the API. */
  async forApi(repo: RepositoryName, permissions: Permissions): Promise<string> {
    if (this.#auth.type === "token") return this.#auth.token;
    const key = `${repo.owner}/${repo.name} ${describe(permissions)}`;
    const known = this.#cached.get(key);
    if (known && Date.parse(known.expires_at) - Date.now() > MARGIN_MS) return known.token;
    const { id } = await this.installation(repo);
    const minted = await this.mint(id, { repository: repo.name, permissions }).catch((error) => {
      // The installation may have been removed and created again.
      this.forget(repo);
      throw error;
    });
    remember(this.#cached, key, minted);
    return minted.token;
  }

  /** Forgets the tokens and the installation of a repository, after GitHub has rejected a token. */
  forget({ owner, name }: RepositoryName): void {
    this.#installations.delete(`${owner}/${name}`);
    for (const key of this.#cached.keys()) if (key.startsWith(`${owner}/${name} `)) this.#cached.delete(key);
  }
}

function describe(permissions: Permissions): string {
  return Object.entries(permissions)
    .map(([name, level]) => `${name}: ${level}`)
    .join(", ");
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  const oldest = map.keys().next().value;
  if (map.size >= MAX_CACHED && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}
