import type { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { notFound } from "../../engine/api-error.ts";
import { requireScope } from "../../engine/auth/principal.ts";
import type { Blobs } from "../../engine/blobs.ts";
import { BASE } from "../http/request.ts";
import type { Authenticator } from "../pipeline/auth.ts";

/** Deliberately high, because workspaces can be large. In practice, the sandbox's disk limit applies first. */
const BLOB_BYTES = 16 * 1024 ** 3;

const address = `${BASE}/worker/blobs/:sha256`;
const isHash = /^[0-9a-f]{64}$/;

/** Registers blob upload and download in a separate Fastify scope, where bodies are streamed, not read into memory. */
export function registerBlobs(
  app: FastifyInstance,
  { blobs, authenticator }: { blobs: Blobs; authenticator: Authenticator },
) {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

    scope.addHook("onRequest", async (request, reply) => {
      requireScope(await authenticator.authenticate(request, reply), "worker");
      if (!isHash.test((request.params as { sha256: string }).sha256)) throw notFound("blob");
    });

    scope.put<{ Params: { sha256: string }; Body: Readable }>(
      address,
      { bodyLimit: BLOB_BYTES, config: { operation: "worker.putBlob" } },
      async ({ params, body }, reply) => {
        await blobs.put(params.sha256, body);
        return reply.code(204).send();
      },
    );

    scope.get<{ Params: { sha256: string } }>(
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
