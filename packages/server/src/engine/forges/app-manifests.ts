/**
 * Creates a GitHub App by GitHub's manifest flow: the browser sends a manifest to GitHub, the user confirms, and GitHub
 * redirects the browser to the web app with a code. The server exchanges the code for the app's private key, once.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Forge } from "@outrider/contract/forge";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { ForgeError } from "../../forges/forge-client.ts";
import { forgeErrorOf } from "../../forges/forge-errors.ts";
import { openForgeFetch } from "../../forges/forge-fetch.ts";
import { apiUrlOf } from "../../forges/open-client.ts";
import type { Sql } from "../../store/connection/db.ts";
import { insertAppManifest, useAppManifest } from "../../store/forges.ts";
import { ApiError } from "../api-error.ts";
import { type Forges, normalizeUrl } from "./forges.ts";

const EXPIRES_MS = 3_600_000;

/** Everything that publishing needs. The tokens of the app have only the part that their use needs. */
export const appPermissions = {
  contents: "write",
  pull_requests: "write",
  metadata: "read",
  checks: "read",
  statuses: "read",
  actions: "read",
} as const;

/** The part of GitHub's response that is needed. */
const Conversion = z.object({
  id: z.int(),
  slug: z.string().regex(/^[A-Za-z0-9-]{1,100}$/),
  html_url: z.url({ protocol: /^https?$/ }).max(500),
  pem: z.string().max(20_000),
});

export async function createAppManifest(
  sql: Sql,
  { url: given, organization }: { url?: string | undefined; organization?: string | undefined },
  { origin, createdBy }: { origin: string; createdBy: string },
) {
  const url = normalizeUrl(given ?? "https://github.com");
  const manifestId = uuidv7();
  // GitHub sends the state back, so the page knows which manifest it belongs to.
  const state = `${manifestId}.${randomBytes(24).toString("base64url")}`;
  const expires_at = new Date(Date.now() + EXPIRES_MS).toISOString();
  await insertAppManifest(sql, {
    manifest_id: manifestId,
    url,
    state_hash: hashOf(state),
    created_by: createdBy,
    expires_at,
  });
  const page = organization ? `organizations/${organization}/settings/apps/new` : "settings/apps/new";
  return {
    manifest_id: manifestId,
    action_url: `${url}/${page}?state=${encodeURIComponent(state)}`,
    manifest: JSON.stringify({
      // Names of apps are unique on GitHub.
      name: `Outrider ${randomBytes(4).toString("hex")}`,
      url: origin,
      redirect_url: `${origin}/settings/forges/github-app`,
      public: false,
      default_permissions: appPermissions,
      default_events: [],
    }),
    expires_at,
  };
}

export async function completeAppManifest(
  sql: Sql,
  forges: Forges,
  request: { manifestId: string; code: string; state: string; createdBy: string },
): Promise<Forge> {
  const { manifestId, code, state, createdBy } = request;
  const manifest = await useAppManifest(sql, { manifestId, stateHash: hashOf(state) });
  if (!manifest) {
    throw new ApiError(
      "conflict",
      "The request to create a GitHub App is unknown, has expired, or was completed. Start again.",
    );
  }
  const { url } = manifest;
  const apiUrl = apiUrlOf("github", url);
  const { id, slug, html_url, pem } = await convert(forges, apiUrl, code);
  return forges.store(sql, {
    type: "github",
    url,
    apiUrl,
    auth: { type: "app", appId: id, privateKey: pem },
    stored: { type: "app", app_id: id, slug, page_url: html_url },
    login: `${slug}[bot]`,
    createdBy,
  });
}

async function convert(forges: Forges, apiUrl: string, code: string): Promise<z.infer<typeof Conversion>> {
  const response = await openForgeFetch(forges.network)(
    `${apiUrl}/app-manifests/${encodeURIComponent(code)}/conversions`,
    { method: "POST", headers: { accept: "application/vnd.github+json", "user-agent": "outrider" } },
  );
  const body = (await response.json().catch(() => undefined)) as { message?: unknown } | undefined;
  if (!response.ok) {
    const action = "create the app";
    const message = typeof body?.message === "string" ? body.message : "";
    if (response.status === 404)
      throw new ForgeError(
        "invalid",
        "GitHub does not know the code. It is valid for one hour and only once. Start again.",
      );
    throw forgeErrorOf({
      product: "GitHub",
      action,
      status: response.status,
      message,
      headers: response.headers,
    });
  }
  const parsed = Conversion.safeParse(body);
  if (!parsed.success) throw new ForgeError("invalid", "GitHub sent an unexpected response. Start again.");
  return parsed.data;
}

function hashOf(state: string): Buffer {
  return createHash("sha256").update(state).digest();
}
