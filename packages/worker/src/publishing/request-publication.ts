import { setTimeout as pause } from "node:timers/promises";
import type { PublishRequest, RequestedPublication } from "@outrider/contract/worker/publication";
import type { ServerClient } from "../server-client/server-client.ts";
import { describePublication, type PublicationResult } from "./describe-publication.ts";

/** How long an agent and `git push` wait for a result. The publication continues after that. */
const WAIT_MS = 60_000;
const POLL_MS = { min: 200, max: 2_000 };

interface RequestOptions {
  server: Pick<ServerClient, "publish" | "listRequested">;
  executionId: string;
  signal: AbortSignal;
}

/** Asks for a publication and waits for its result. Returns whether the branch is pushed, too. */
export async function requestPublication(
  request: PublishRequest,
  options: RequestOptions,
): Promise<PublicationResult> {
  const { server, executionId, signal } = options;
  const { publications, refusals } = await server.publish(executionId, request, signal);
  if (refusals.length > 0) return { reason: "refused", messages: refusals.map(({ message }) => message) };
  if (publications.length === 0)
    return { reason: "nothing to publish", messages: ["There is nothing to publish."] };
  const results = (await waitForResults(publications, request.run_id, options)).map(describePublication);
  const reason = results.find((each) => each.reason !== undefined)?.reason;
  return {
    messages: results.flatMap(({ messages }) => messages),
    ...(reason === undefined ? {} : { reason }),
  };
}

async function waitForResults(
  requested: RequestedPublication[],
  run_id: string,
  { server, executionId, signal }: RequestOptions,
): Promise<RequestedPublication[]> {
  const publication_ids = requested.map(({ publication_id }) => publication_id);
  const end = performance.now() + WAIT_MS;
  let publications = requested;
  for (let waitMs = POLL_MS.min; publications.some(isPending) && performance.now() < end; ) {
    await pause(waitMs, undefined, { signal });
    waitMs = Math.min(waitMs * 1.5, POLL_MS.max);
    ({ publications } = await server.listRequested(executionId, { run_id, publication_ids }, signal));
  }
  return publications;
}

const isPending = ({ state }: RequestedPublication) => ["QUEUED", "PUSHING", "PUSHED"].includes(state);
