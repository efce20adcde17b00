import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { requireScope } from "../../engine/principal.ts";
import { Refusal } from "../../engine/refusal.ts";
import { isUnreachable } from "../../store/db.ts";
import type { Authenticator } from "../auth.ts";

const BELIEVED_MS = 10 * 60_000;
const REMEMBERED = 16;

/**
 * Admins read metrics. Without the database nobody can say who is one, and that is when metrics are wanted most: then who
 * was one a moment ago is believed, for this alone.
 */
export function admitScrapers({ authenticate }: Pick<Authenticator, "authenticate">) {
  const admitted = new Map<string, number>();
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const said = createHash("sha256")
      .update(request.headers.authorization ?? "")
      .digest("base64");
    try {
      requireScope(await authenticate(request, reply), "admin");
    } catch (error) {
      const isKnown = performance.now() - (admitted.get(said) ?? Number.NEGATIVE_INFINITY) < BELIEVED_MS;
      if (isKnown && (isUnreachable(error) || isAway(error))) return;
      admitted.delete(said);
      throw error;
    }
    if (!request.headers.authorization) return;
    admitted.delete(said);
    admitted.set(said, performance.now());
    const [oldest] = admitted.keys();
    if (admitted.size > REMEMBERED && oldest) admitted.delete(oldest);
  };
}

/** It may also be there and not answer: engine/pulse.ts. */
function isAway(error: unknown): boolean {
  return error instanceof Refusal && error.code === "resource_unavailable";
}
