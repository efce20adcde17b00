import { Failure } from "@outrider/agent/failure";
import type { AssignedModel, Assignment } from "@outrider/contract/worker";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import { literalSecrets } from "../mcp/secrets.ts";
import { secretsOfCredential } from "../repositories/access.ts";

/**
 * Shorter values are not redacted, because local models often use a placeholder, such as the model's name, as their
 * key.
 */
const MIN_MODEL_SECRET_CHARACTERS = 8;

/**
 * The redactor needs memory in proportion to the secrets. This limit is far above what credentials need; only an
 * environment with many long secrets, or MCP servers with large literal values, can exceed it.
 */
const MAX_SECRET_BYTES = 1024 * 1024;

/** Returns the reason why a run cannot start, if it has more secrets than can be redacted. */
export function checkSecretSize(secrets: string[]): Failure | undefined {
  const bytes = secrets.reduce((sum, secret) => sum + Buffer.byteLength(secret), 0);
  if (bytes <= MAX_SECRET_BYTES) return undefined;
  return new Failure(
    "environment_setup_failed",
    `The run's secrets and the literal values of its MCP servers have ${bytes} bytes, but at most ${MAX_SECRET_BYTES} bytes can be redacted. Use fewer or shorter values.`,
  );
}

/** Returns the secret values that must not leave the worker in a build's log and errors. */
export function listEnvironmentSecrets({ credentials, build_secrets = {} }: AssignedEnvironment): string[] {
  return [...Object.values(credentials).flatMap(secretsOfCredential), ...Object.values(build_secrets)];
}

/** Returns all secret values that must not leave the worker in a run's events and files. */
export function listRunSecrets(
  assignment: Pick<Assignment, "secrets" | "agent_config" | "environment" | "model" | "harness">,
): string[] {
  const { secrets, agent_config, environment, model, harness } = assignment;
  const smallModel = harness?.small_model;
  return [
    ...[model, ...(smallModel ? [smallModel] : [])].flatMap(listModelSecrets),
    ...Object.values(secrets),
    ...(environment ? listEnvironmentSecrets(environment) : []),
    ...literalSecrets(agent_config.mcp_servers),
  ];
}

function listModelSecrets({ api_key = "", headers = {}, credentials = {} }: AssignedModel): string[] {
  const values = [
    api_key,
    ...Object.values(headers),
    ...Object.values(credentials).flatMap((value) => value ?? []),
  ];
  return values.filter((value) => value.length >= MIN_MODEL_SECRET_CHARACTERS);
}
