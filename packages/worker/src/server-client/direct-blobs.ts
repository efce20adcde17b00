import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { UploadTarget } from "@outrider/contract/worker/blob";
import { Agent, request } from "undici";
import type { HttpClient } from "./http.ts";

/** Smaller files are sent to the server, because asking where to send them would take longer. */
const MIN_BYTES = 2 ** 20;
/** After a failure, the server transfers everything for this long. */
const PAUSE_MS = 10 * 60_000;
const CONNECT_MS = 5_000;
const ASK_MS = 15_000;
const TRANSFER_MS = 60_000;

/**
 * Transfers blobs between the worker and the storage of files, without the server in between, if the server offers it.
 * Everything here may fail: the server then transfers the blob, which is always possible.
 */
export class DirectBlobs {
  readonly #http: HttpClient;
  readonly #agent: Agent;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(http: HttpClient, { ca }: { ca?: string[] }) {
    this.#http = http;
    this.#agent = new Agent({ connect: { timeout: CONNECT_MS, ...(ca ? { ca } : {}) } });
  }

  get isPaused(): boolean {
    return performance.now() < this.#pausedUntil;
  }

  pause(): void {
    this.#pausedUntil = performance.now() + PAUSE_MS;
  }

  /** Returns false if the blob must be sent to the server. */
  async put(
    content: string | Buffer,
    { sha256, size, signal }: { sha256: string; size: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (size < MIN_BYTES || this.isPaused) return false;
    const isStored = await this.#put(content, { sha256, size, signal }).catch(() => false);
    signal.throwIfAborted();
    if (!isStored) this.pause();
    return isStored;
  }

  async #put(
    content: string | Buffer,
    { sha256, size, signal }: { sha256: string; size: number; signal: AbortSignal },
  ): Promise<boolean> {
    const path = `/blobs/${sha256}/upload?size=${size}`;
    const answer = await this.#http.send({ method: "POST", path, signal, timeoutMs: ASK_MS });
    // An older server does not know the path.
    if (answer.status !== 200) return false;
    const target = UploadTarget.parse(JSON.parse(answer.body.toString()));
    if (target.type !== "direct") return target.type === "stored";
    const { statusCode, body } = await request(target.url, {
      method: "PUT",
      headers: target.headers,
      body: typeof content === "string" ? createReadStream(content) : content,
      dispatcher: this.#agent,
      signal,
      headersTimeout: TRANSFER_MS,
      bodyTimeout: TRANSFER_MS,
    });
    await body.dump();
    // 412: another worker has stored the same content.
    return statusCode === 200 || statusCode === 412;
  }

  /** Opens the URL that the server has redirected to. */
  async open(url: string, signal: AbortSignal): Promise<Readable> {
    const { statusCode, body } = await request(url, {
      dispatcher: this.#agent,
      signal,
      headersTimeout: TRANSFER_MS,
      bodyTimeout: TRANSFER_MS,
    });
    body.on("error", () => {});
    if (statusCode === 200) return body;
    await body.dump();
    throw new Error(`The storage of files responded with ${statusCode}.`);
  }

  close(): void {
    void this.#agent.destroy();
  }
}
