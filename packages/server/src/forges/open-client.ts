import type { ForgeType } from "@outrider/contract/forge";
import type { OutboundNetwork } from "../outbound/outbound-network.ts";
import type { ForgeClient } from "./forge-client.ts";
import type { GitHubAuth } from "./github-tokens.ts";

export type ForgeAuth = GitHubAuth;

export interface ForgeAddress {
  type: ForgeType;
  /** Without a slash at the end. */
  url: string;
  apiUrl: string;
}

/** Returns the client for a forge. The libraries load when they are first needed. */
export async function openForgeClient(
  { type, url, apiUrl }: ForgeAddress,
  { auth, network, timeoutMs }: { auth: ForgeAuth; network: OutboundNetwork; timeoutMs?: number },
): Promise<ForgeClient> {
  const shared = { url, network, ...(timeoutMs ? { timeoutMs } : {}) };
  if (type === "github") {
    const { GitHubClient } = await import("./github.ts");
    return new GitHubClient({ ...shared, apiUrl, auth });
  }
  if (auth.type !== "token") throw new Error(`A forge of type ${type} cannot be connected with an app.`);
  if (type === "gitlab") {
    const { GitLabClient } = await import("./gitlab.ts");
    return new GitLabClient({ ...shared, token: auth.token });
  }
  const { GiteaClient } = await import("./gitea.ts");
  return new GiteaClient({ ...shared, token: auth.token });
}

/** Returns the address of a forge's API. */
export function apiUrlOf(type: ForgeType, url: string): string {
  if (type === "gitlab") return `${url}/api/v4`;
  if (type === "gitea") return `${url}/api/v1`;
  const { origin, host } = new URL(url);
  if (host === "github.com") return "https://api.github.com";
  // GitHub Enterprise Cloud with data residency has its API on a host of its own.
  return host.endsWith(".ghe.com") ? `https://api.${host}` : `${origin}/api/v3`;
}
