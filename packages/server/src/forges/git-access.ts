import { ForgeError } from "./forge-client.ts";
import type { ForgeFetch } from "./forge-fetch.ts";

export interface GitAccessOptions {
  fetch: ForgeFetch;
  /** The URL of the repository for git over HTTPS. */
  url: string;
  service: "git-upload-pack" | "git-receive-pack";
  /** `user:token` */
  credential: string;
}

/** Checks whether git may fetch from or push to a repository, with the first request of git's smart HTTP protocol. */
export async function checkGitAccess({ fetch, url, service, credential }: GitAccessOptions): Promise<void> {
  const response = await fetch(`${url}/info/refs?service=${service}`, {
    headers: {
      authorization: `Basic ${Buffer.from(credential).toString("base64")}`,
      // Version 2 answers with capabilities instead of all refs, of which a large repository has megabytes.
      ...(service === "git-upload-pack" ? { "git-protocol": "version=2" } : {}),
      "user-agent": "git/outrider",
    },
  }).catch((error: ForgeError) => {
    // The list of refs for a push has no limit. Git was allowed to read it.
    if (error.code === "invalid" && service === "git-receive-pack" && /more than/.test(error.message))
      return undefined;
    throw error;
  });
  if (!response || response.status === 200) {
    if (response && !response.headers.get("content-type")?.includes(`${service}-advertisement`))
      throw new ForgeError("invalid", `${new URL(url).host} does not answer as a git server at ${url}.`);
    return;
  }
  const verb = service === "git-upload-pack" ? "clone" : "push to";
  if (response.status === 401 || response.status === 403 || response.status === 404)
    throw new ForgeError(
      "forbidden",
      `The credential may not ${verb} the repository (HTTP ${response.status}).`,
    );
  throw new ForgeError("server_error", `The forge failed to answer git (HTTP ${response.status}).`);
}
