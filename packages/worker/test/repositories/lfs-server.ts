import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { HttpServer } from "./git-server.ts";

/** A Git LFS server that shares the host and the login of a git server, and enforces the protocol. */
export class LfsServer {
  readonly objects = new Map<string, Buffer>();
  /** The downloads so far, by oid. */
  readonly downloads: string[] = [];
  /** Changes an object of the batch answer. */
  change: (object: Record<string, unknown>) => unknown = (object) => object;
  /** Changes the content that a download sends. */
  send: (content: Buffer) => Buffer = (content) => content;
  /** Answers a download itself if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #login: string;
  readonly #host: string;

  constructor(server: HttpServer, login: string) {
    this.#login = `Basic ${Buffer.from(login).toString("base64")}`;
    this.#host = server.host;
    server.before = (request, response) => this.#handle(request, response);
  }

  /** Stores content. Returns the text of its pointer. */
  add(content: Buffer | string): { oid: string; pointer: string } {
    const data = Buffer.from(content);
    const oid = createHash("sha256").update(data).digest("hex");
    this.objects.set(oid, data);
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${data.length}\n`;
    return { oid, pointer };
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "", method, headers } = request;
    const oid = /^\/lfs-objects\/([0-9a-f]{64})$/.exec(url)?.[1];
    if (!/^\/[^/]+\.git\/info\/lfs\/objects\/batch$/.test(url) && !oid) return;
    if (oid && this.intercept(request, response)) return;
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/vnd.git-lfs+json" });
      response.end(JSON.stringify(body));
    };
    if (headers.authorization !== (oid ? "Bearer download" : this.#login)) {
      return answer(401, { message: `Credentials needed, not ${headers.authorization}` });
    }
    if (oid) {
      this.downloads.push(oid);
      const content = this.objects.get(oid);
      response.writeHead(content ? 200 : 404).end(content && this.send(content));
      return;
    }
    const type = "application/vnd.git-lfs+json";
    if (method !== "POST" || headers.accept !== type || headers["content-type"] !== type) {
      return answer(406, { message: "Not Git LFS" });
    }
    const { operation, objects } = JSON.parse(await text(request)) as {
      operation: string;
      objects: { oid: string; size: number }[];
    };
    if (operation !== "download" || objects.length > 100) return answer(422, { message: "Invalid request" });
    const found = objects.map(({ oid, size }) => {
      const href = `http://${this.#host}/lfs-objects/${oid}`;
      if (this.objects.get(oid)?.length !== size)
        return { oid, size, error: { code: 404, message: "No such object." } };
      return { oid, size, actions: { download: { href, header: { Authorization: "Bearer download" } } } };
    });
    answer(200, { transfer: "basic", objects: found.map((object) => this.change(object)) });
  }
}
