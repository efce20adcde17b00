import type { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { invalidField, notFound } from "../../engine/api-error.ts";
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
      async ({ params, body, headers }, reply) => {
        const size = Number(headers["content-length"]);
        await blobs.put(params.sha256, body, Number.isSafeInteger(size) ? { size } : {});
        return reply.code(204).send();
      },
    );

    // Older workers do not ask, and send every blob to the server.
    scope.post<{ Params: { sha256: string }; Querystring: { size?: string } }>(
      `${address}/upload`,
      { config: { operation: "worker.uploadBlob" } },
      async ({ params, query }) => {
        const size = Number(query.size);
        if (!Number.isSafeInteger(size) || size < 0 || size > BLOB_BYTES)
          throw invalidField("/size", `must be a number of bytes, at most ${BLOB_BYTES}`);
        return blobs.uploadTarget(params.sha256, size);
      },
    );

    scope.get<{ Params: { sha256: string }; Querystring: { direct?: string } }>(
      address,
      { config: { operation: "worker.getBlob" } },
      async ({ params, query }, reply) => {
        // Older workers do not follow redirects, and do not ask for one.
        const url = query.direct === "true" ? await blobs.downloadUrl(params.sha256) : undefined;
        if (url) return reply.header("cache-control", "no-store").redirect(url, 307);
        const blob = await blobs.open(params.sha256);
        if (!blob) throw notFound("blob");
        return reply.type("application/octet-stream").header("content-length", blob.size).send(blob.content);
      },
    );
  });
}
