import type { EnvironmentRequest } from "@outrider/contract/environment";
import type {
  RepositoryCredential,
  RepositoryCredentialRequest,
} from "@outrider/contract/worker/publication";
import { ForgeError } from "../../forges/forge-client.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findEnvironmentOfRun } from "../../store/environments.ts";
import { findHeldRepositories } from "../../store/forges.ts";
import { ApiError, unavailable } from "../api-error.ts";
import { resolveRepo } from "../builds/builds.ts";
import { requireExecution } from "../runs/executions.ts";
import type { Forges } from "./forges.ts";

type Repository = NonNullable<EnvironmentRequest["repos"]>[number];

/**
 * Returns a credential with which a worker can fetch a repository, but not push. The repository must belong to the
 * environment of an execution, build, shell or proposal that the worker holds.
 */
export async function repositoryCredential(
  sql: Sql,
  { forges, gitHost }: { forges: Forges; gitHost: string },
  { worker_id, forge_id, url, holder }: RepositoryCredentialRequest,
): Promise<RepositoryCredential> {
  const repos =
    holder.type === "execution"
      ? ((await findEnvironmentOfRun(sql, await requireExecution(sql, holder.execution_id)))?.config.repos ??
        [])
      : await findHeldRepositories<Repository>(sql, worker_id, holder);
  if (!repos) throw new ApiError("conflict", `The ${holder.type} does not belong to this worker.`);
  const isListed = repos.some((repo) => repo.secret === undefined && resolveRepo(repo, gitHost).url === url);
  const found = isListed ? await forges.findByUrl(sql, url) : undefined;
  if (found?.forgeId !== forge_id) {
    throw new ApiError(
      "conflict",
      `The ${holder.type} has no repository with this URL that uses the credential of this forge.`,
    );
  }
  const credential = await forges.credentialFor(url, { write: false }).catch((error) => {
    if (!(error instanceof ForgeError)) throw error;
    const { isRetryable, message, retryAfterMs = 5_000 } = error;
    throw isRetryable
      ? unavailable(message, Math.ceil(retryAfterMs / 1_000))
      : new ApiError("conflict", message);
  });
  if (!credential) throw new ApiError("conflict", "The forge provides credentials only for https URLs.");
  return credential;
}
