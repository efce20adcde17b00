import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

/** What a hostile git server sends. It speaks git's protocol, version 2. */
export interface HostileRepository {
  /** The lines of the listing, without the line break: `ID NAME`, with attributes. */
  refs: string[];
  pack?: Buffer;
  /** Sections before the pack, each with its lines. */
  sections?: Record<string, string[]>;
  capabilities?: string[];
  /** Replaces a response. Returns false to send the usual one. */
  respond?(request: { path: string; command: string | undefined; response: ServerResponse }): boolean;
}

export interface HostileServer {
  host: string;
  /** By the first folder of the URL. */
  repositories: Map<string, HostileRepository>;
  stop(): Promise<void>;
}

const flush = Buffer.from("0000");
const delimiter = Buffer.from("0001");

/** Encodes a packet of git's protocol. */
export function packet(content: string | Buffer): Buffer {
  const data = Buffer.from(content);
  return Buffer.concat([Buffer.from((data.length + 4).toString(16).padStart(4, "0")), data]);
}

/** Splits data into packets of one channel: 1 is the pack, 2 is progress. */
export function sideband(channel: 1 | 2, data: Buffer): Buffer {
  const size = 65_000;
  const parts = Array.from({ length: Math.ceil(data.length / size) }, (_, index) =>
    packet(Buffer.concat([Buffer.from([channel]), data.subarray(index * size, (index + 1) * size)])),
  );
  return Buffer.concat(parts);
}

export async function serveHostile(): Promise<HostileServer> {
  const repositories = new Map<string, HostileRepository>();
  const server = createServer((request, response) => {
    response.on("error", () => {});
    void respond(request, response).catch(() => response.destroy());
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const repository = repositories.get(path.split("/")[1] ?? "");
    const sent = await buffer(request);
    const body = (request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent).toString(
      "latin1",
    );
    const command = /command=([a-z-]+)/.exec(body)?.[1];
    if (!repository) return void response.writeHead(404).end();
    if (repository.respond?.({ path, command, response })) return;
    if (path.endsWith("/info/refs")) {
      response.writeHead(200, { "content-type": "application/x-git-upload-pack-advertisement" });
      const lines = [
        "version 2",
        "ls-refs",
        "fetch=shallow",
        "object-format=sha1",
        ...(repository.capabilities ?? []),
      ];
      const capabilities = lines.map((line) => packet(`${line}\n`));
      return void response.end(
        Buffer.concat([packet("# service=git-upload-pack\n"), flush, ...capabilities, flush]),
      );
    }
    response.writeHead(200, { "content-type": "application/x-git-upload-pack-result" });
    if (command === "ls-refs") {
      const lines = repository.refs.map((line) => packet(`${line}\n`));
      return void response.end(Buffer.concat([...lines, flush]));
    }
    const acknowledgments = body.includes("done\n") ? {} : { acknowledgments: ["NAK", "ready"] };
    const sections = Object.entries({ ...acknowledgments, ...repository.sections }).flatMap(
      ([name, lines]) => [...[name, ...lines].map((line) => packet(`${line}\n`)), delimiter],
    );
    const pack = sideband(1, repository.pack ?? Buffer.alloc(0));
    response.end(Buffer.concat([...sections, packet("packfile\n"), pack, flush]));
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    repositories,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
