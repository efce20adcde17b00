import { createSign } from "node:crypto";
import type { AssignedModel } from "@outrider/contract/worker";
import { requireSetting } from "./cloud-setting.ts";
import { type Send, secureFetch } from "./provider-settings.ts";

const TOKEN_URL = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const LIFETIME_SECONDS = 3_600;
/** A token is replaced this long before it expires, so that no call fails on the way. */
const MARGIN_MS = 5 * 60_000;

/** The access token of a service account: a signed request is exchanged for it, and it is used until it expires. */
export class GoogleToken {
  readonly #work: AssignedModel;
  readonly #send: typeof fetch;
  #token: { value: string; expiresAt: number } | undefined;

  constructor(work: AssignedModel, options: { send?: Send | undefined } = {}) {
    this.#work = work;
    this.#send = secureFetch(work, { send: options.send });
  }

  /** Returns the token, or the response that refuses it. */
  async get(signal?: AbortSignal): Promise<string | Response> {
    if (this.#token && Date.now() < this.#token.expiresAt - MARGIN_MS) return this.#token.value;
    const url = this.#work.cloud_settings?.token_url ?? TOKEN_URL;
    const response = await this.#send(url, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: this.#assertion(url),
      }).toString(),
      ...(signal ? { signal } : {}),
    });
    if (!response.ok) return response;
    const { access_token: value, expires_in } = (await response.json()) as Record<string, unknown>;
    if (typeof value !== "string" || !/^[\x21-\x7e]{1,8192}$/.test(value))
      return new Response("The token server returned no access token.", { status: 502 });
    const seconds = typeof expires_in === "number" ? Math.min(expires_in, LIFETIME_SECONDS) : 0;
    this.#token = { value, expiresAt: Date.now() + seconds * 1_000 };
    return value;
  }

  #assertion(audience: string): string {
    const now = Math.floor(Date.now() / 1_000);
    const iss = requireSetting(this.#work, "client_email");
    const claims = { iss, scope: SCOPE, aud: audience, iat: now, exp: now + LIFETIME_SECONDS };
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = `${encode({ alg: "RS256", typ: "JWT" })}.${encode(claims)}`;
    const key = this.#work.credentials?.private_key ?? "";
    return `${unsigned}.${createSign("RSA-SHA256").update(unsigned).sign(key, "base64url")}`;
  }
}
