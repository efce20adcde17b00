import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../../engine/api-error.ts";
import { requireScope } from "../../engine/auth/principal.ts";
import { isUnreachable } from "../../store/connection/db.ts";
import type { Authenticator } from "../pipeline/auth.ts";

const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 16;

/**
 * Allows only admins to read metrics. Metrics matter most while the database is unreachable, but credentials cannot be
 * checked then. During an outage, this function accepts credentials that were valid within the last ten minutes.
 */
export function createMetricsAuth({ authenticate }: Pick<Authenticator, "authenticate">) {
  const admitted = new Map<string, number>();
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const credentialHash = createHash("sha256")
      .update(request.headers.authorization ?? "")
      .digest("base64");
    try {
      requireScope(await authenticate(request, reply), "admin");
    } catch (error) {
      const isRemembered =
        performance.now() - (admitted.get(credentialHash) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS;
      if (isRemembered && (isUnreachable(error) || isUnavailable(error))) return;
      admitted.delete(credentialHash);
      throw error;
    }
    if (!request.headers.authorization) return;
    admitted.delete(credentialHash);
    admitted.set(credentialHash, performance.now());
    const [oldest] = admitted.keys();
    if (admitted.size > MAX_REMEMBERED && oldest) admitted.delete(oldest);
  };
}

/** Detects a database that accepts connections but is not responding: see engine/operations/database-health.ts. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === "resource_unavailable";
}
