import type { CloudEnvironment } from "@outrider/contract/environment";
import type { Sql } from "../../store/connection/db.ts";
import { findEnvironment } from "../../store/environments.ts";
import { ApiError, invalidField, notFound } from "../api-error.ts";
import type { Principal } from "./principal.ts";

/*
 * A key's `environment_ids` names the only environments that the key can use. For such a key, other environments, their
 * builds and their runs do not exist. A run without an environment is not in any of the named ones, so the key can
 * neither create nor see it.
 *
 * The key cannot change environments or secrets either. Otherwise it could give one of its environments the secrets and
 * repositories of another one.
 *
 * Every operation that involves an environment decides with `mayUseEnvironment`, or restricts its query to
 * `usableEnvironments`.
 */

/** Returns the only environments that the caller may use, or undefined if the caller may use all of them. */
export function usableEnvironments({ key }: Principal): string[] | undefined {
  return key?.limits?.environment_ids;
}

/** Returns whether the caller may use an environment, or may do something without one if it is undefined. */
export function mayUseEnvironment(principal: Principal, environmentId: string | undefined): boolean {
  const usable = usableEnvironments(principal);
  return usable === undefined || (environmentId !== undefined && usable.includes(environmentId));
}

/** Returns the environment that a path names. Throws if it does not exist or the caller may not use it. */
export async function requireEnvironment(
  sql: Sql,
  principal: Principal,
  environmentId: string,
): Promise<CloudEnvironment> {
  const environment = mayUseEnvironment(principal, environmentId)
    ? await findEnvironment(sql, environmentId)
    : undefined;
  if (!environment) throw notFound("environment");
  return environment;
}

/**
 * Returns the environment that a field of the request names, if any. Throws if it does not exist or the caller may not
 * use it.
 */
export async function requireEnvironmentField(
  sql: Sql,
  principal: Principal,
  { pointer, environmentId }: { pointer: string; environmentId: string | undefined },
): Promise<CloudEnvironment | undefined> {
  if (!mayUseEnvironment(principal, environmentId)) {
    const message = "must be one of the environments that the key is limited to";
    throw invalidField(pointer, message, "not_authorized");
  }
  if (environmentId === undefined) return undefined;
  const environment = await findEnvironment(sql, environmentId);
  if (!environment) throw invalidField(pointer, "must be the ID of an existing environment");
  return environment;
}

/** Throws for a key that is limited to some environments. Used for changes to environments and secrets. */
export function requireAllEnvironments(principal: Principal) {
  if (usableEnvironments(principal) === undefined) return;
  throw new ApiError(
    "not_authorized",
    "A key that is limited to environments cannot manage environments or secrets. Use a key without this limit.",
  );
}
