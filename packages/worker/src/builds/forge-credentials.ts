import { Failure } from "@outrider/agent/failure";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { RepositoryCredentialRequest } from "@outrider/contract/worker/publication";
import type { Redactor } from "../redaction/redact.ts";
import { secretsOfCredential } from "../repositories/access.ts";
import { HttpStatusError } from "../server-client/http.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { forgeCredentialName } from "./repository-contents.ts";

/** The server retries while the forge cannot be reached. */
const CREDENTIAL_MS = 2 * 60_000;

interface ForgeCredentialOptions {
  server: Pick<ServerClient, "repositoryCredential">;
  workerId: string;
  holder: RepositoryCredentialRequest["holder"];
  redactor?: Redactor;
  /** How long to wait for a forge that cannot be reached. */
  timeoutMs?: number;
  signal: AbortSignal;
}

/**
 * Gets the credentials of the repositories that use a connected forge, and adds them to `credentials` and to the
 * redactor. Forges issue them for a short time, so they are requested just before a fetch. Rejects with a Failure.
 */
export async function addForgeCredentials(
  { repos, credentials }: Pick<AssignedEnvironment, "repos" | "credentials">,
  { server, workerId, holder, redactor, timeoutMs = CREDENTIAL_MS, signal }: ForgeCredentialOptions,
): Promise<void> {
  const added = await Promise.all(
    repos.map(async ({ url, secret, forge_id }) => {
      if (secret !== undefined || forge_id === undefined) return [];
      const timeout = AbortSignal.timeout(timeoutMs);
      const body = { worker_id: workerId, forge_id, url, holder };
      const { credential } = await server
        .repositoryCredential(body, AbortSignal.any([signal, timeout]))
        .catch((error) => {
          signal.throwIfAborted();
          throw credentialFailure(error, url, timeout.aborted);
        });
      credentials[forgeCredentialName(forge_id, url)] = credential;
      return secretsOfCredential(credential);
    }),
  );
  redactor?.add(added.flat());
}

function credentialFailure(error: unknown, url: string, hasTimedOut: boolean): unknown {
  if (hasTimedOut) {
    return new Failure(
      "repository_unreachable",
      `The forge of ${url} did not issue a credential in time. Try again later.`,
    );
  }
  if (!(error instanceof HttpStatusError)) return error;
  return new Failure(
    "external_authentication_required",
    `There is no credential for ${url}: ${error.detail} An administrator can connect the forge again in the settings.`,
  );
}
