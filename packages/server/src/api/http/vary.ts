import type { FastifyReply } from "fastify";

/** Adds a request header to `Vary`, because the response depends on it. Caches then store one response for each of its values. */
export function addVary(reply: FastifyReply, header: string) {
  const listed = String(reply.getHeader("vary") ?? "")
    .split(", ")
    .filter((each) => each !== "");
  if (!listed.includes(header)) reply.header("vary", [...listed, header].join(", "));
}
