import type { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Blobs } from "../engine/blobs.ts";
import { requireScope } from "../engine/principal.ts";
import { notFound } from "../engine/refusal.ts";
import type { Authenticator } from "./auth.ts";
import { BASE } from "./request.ts";

/** A workspace may be large; what holds it in the end is the sandbox's disk limit. */
const BLOB_BYTES = 16 * 1024 ** 3;

const address = `${BASE}/worker/blobs/:sha256`;
const isHash = /^[0-9a-f]{64}$/;

/** Blobs go through as streams, in a corner of the app that does not read bodies into memory. */
export function registerBlobs(
  app: FastifyInstance,
  { blobs, authenticator }: { blobs: Blobs; authenticator: Authenticator },
) {
  app.register(async (corner) => {
    corner.removeAllContentTypeParsers();
    corner.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

    corner.addHook("onRequest", async (request, reply) => {
      requireScope(await authenticator.authenticate(request, reply), "worker");
      if (!isHash.test((request.params as { sha256: string }).sha256)) throw notFound("blob");
    });

    corner.put<{ Params: { sha256: string }; Body: Readable }>(
      address,
      { bodyLimit: BLOB_BYTES, config: { operation: "worker.putBlob" } },
      async ({ params, body }, reply) => {
        await blobs.put(params.sha256, body);
        return reply.code(204).send();
      },
    );

    corner.get<{ Params: { sha256: string } }>(
      address,
      { config: { operation: "worker.getBlob" } },
      async ({ params }, reply) => {
        const blob = await blobs.open(params.sha256);
        if (!blob) throw notFound("blob");
        return reply.type("application/octet-stream").header("content-length", blob.size).send(blob.content);
      },
    );
  });
}
