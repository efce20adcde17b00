export interface ServiceAccount {
  client_email: string;
  private_key: string;
  token_url?: string;
}

/** Parses the content of a service account's key file. Returns undefined if it is none. */
export function parseServiceAccount(text: string): ServiceAccount | undefined {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { client_email, private_key, token_uri } = json ?? {};
  if (typeof client_email !== "string" || typeof private_key !== "string") return undefined;
  const token_url = typeof token_uri === "string" && URL.canParse(token_uri) ? token_uri : undefined;
  return { client_email, private_key, ...(token_url ? { token_url } : {}) };
}
