import type { FastifyReply, FastifyRequest } from "fastify";
import { loadToCsv, usageToCsv } from "../../engine/usage/csv.ts";
import { getUsage, getUsageLoad } from "../../engine/usage/usage.ts";
import { compressBody } from "../http/compression.ts";
import { addVary } from "../http/vary.ts";
import { type Handlers, ok, STREAMED } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";

export const usageHandlers: Pick<Handlers, "getUsage" | "getUsageLoad"> = {
  async getUsage({ sql, services, principal, query, request, reply }) {
    const { gitHost, listLimiter } = services;
    const usage = await listLimiter.run(subjectOf(principal), () =>
      getUsage(sql, { principal, query, gitHost }),
    );
    return asksForCsv(request)
      ? sendCsv(request, reply, { name: "usage", content: usageToCsv(usage) })
      : ok(usage);
  },

  async getUsageLoad({ sql, services, principal, query, request, reply }) {
    const load = await services.listLimiter.run(subjectOf(principal), () => getUsageLoad(sql, query));
    return asksForCsv(request)
      ? sendCsv(request, reply, { name: "load", content: loadToCsv(load) })
      : ok(load);
  },
};

function asksForCsv({ headers: { accept = "" } }: FastifyRequest): boolean {
  return /text\/csv/i.test(accept) && !/application\/json/i.test(accept);
}

async function sendCsv(
  request: FastifyRequest,
  reply: FastifyReply,
  { name, content }: { name: string; content: string },
): Promise<typeof STREAMED> {
  addVary(reply, "accept");
  const body = await compressBody(request, reply, content);
  await reply
    .type("text/csv; charset=utf-8")
    .header("content-disposition", `attachment; filename="${name}.csv"`)
    .send(body);
  return STREAMED;
}
