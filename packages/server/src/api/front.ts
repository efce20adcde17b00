import { constants } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import { type AddressInfo, createServer as createDoor, isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import type { TlsOptions } from "node:tls";
import { limits } from "@outrider/contract/limits";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { Connections } from "./connections.ts";
import { sortOut } from "./tls/both.ts";
import { type Certificate, openCertificate } from "./tls/certificate.ts";
import { selfSigned } from "./tls/self-signed.ts";

const DAY_MS = 86_400_000;

/** How long a client may take. What a call's body may take is shorter: see `bodyMs` in app. */
const patience: ServerOptions = {
  headersTimeout: 15_000,
  // A worker's files may be large and its line slow.
  requestTimeout: 900_000,
  // Longer than proxies keep theirs (Caddy: two minutes), so that none sends a request into a connection that we just close.
  keepAliveTimeout: 150_000,
  connectionsCheckingInterval: 2_000,
};
/** Without a byte in either direction. Streams and long polls say something far more often. */
const SILENCE_MS = 120_000;

/** HTTP/1.1 alone: streams need a connection each anyway, and a client cannot open thousands of them in one. */
const tlsOptions: TlsOptions = {
  minVersion: "TLSv1.2",
  ciphers: [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
  ].join(":"),
  ALPNProtocols: ["http/1.1"],
  // A client of TLS 1.2 could have us do the costly half of a handshake again and again.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  handshakeTimeout: 10_000,
};

export interface FrontOptions {
  config: Config;
  /** Whether an address is a declared proxy's. */
  isProxy(address: string): boolean;
  log: Logger;
}

/** What stands between the network and the app: listening, TLS, and how many connections there may be. */
export interface Front {
  createServer(answer: RequestListener): Server;
  listen(app: FastifyInstance): Promise<void>;
  /** Where it listens. */
  listening(): string;
  /** How clients reach it. */
  origin(): string;
  /** How this machine's own workers reach it, whatever the certificate says. */
  localOrigin(): string;
  certificate?: Certificate & { file: string };
  connections: Pick<Connections, "count" | "closed">;
  /** Whether browsers may be told to come by https alone: not where they have to accept a certificate by hand. */
  isStrict: boolean;
  close(): void;
}

export async function openFront({ config, isProxy, log }: FrontOptions): Promise<Front> {
  const { host, port, publicUrl, tls, dataDir } = config;
  const connections = new Connections({
    most: config.maxConnections,
    mostEach: config.maxConnectionsPerAddress,
    isExempt: (address) => isProxy(address) || isThisMachine(address),
  });
  const names = [...(isAny(host) ? [] : [host]), ...(publicUrl ? [nameIn(publicUrl)] : [])];
  const makeOwn = () => selfSigned(dataDir, names);
  const files = tls === "self-signed" ? await makeOwn() : tls;
  let server: Server;
  let listening = "";
  let localOrigin = "";
  let unrenewed = 0;
  const certificate =
    files &&
    (await openCertificate(files, {
      log,
      // Connections that stand keep what they have; the next handshake sees the new one.
      changed: ({ cert, key }) =>
        (server as unknown as SecureServer).setSecureContext({ ...tlsOptions, cert, key }),
    }));
  // The watch over the files does the rest.
  const renewal = tls === "self-signed" ? setInterval(renew, DAY_MS).unref() : undefined;
  const door = certificate && createDoor((socket) => server.emit("secureConnection", socket));

  const originOf = () => publicUrl ?? listening;

  async function renew() {
    await makeOwn().catch((error) => {
      unrenewed++;
      log.error({ error }, "the certificate was not renewed");
    });
  }

  function createOurs(answer: RequestListener): Server {
    const options = { ...patience, maxHeaderSize: limits.header, requireHostHeader: false };
    if (!certificate) return createServer(options, answer);
    const { cert, key } = certificate.current();
    return createSecureServer({ ...options, ...tlsOptions, cert, key }, answer) as unknown as Server;
  }

  const direct = (_socket: Socket, pass: () => void) => pass();
  const sort = certificate ? sortOut(originOf) : direct;
  const isOpen = certificate === undefined && !isLoopbackName(host);

  return {
    createServer(answer) {
      server = createOurs(answer);
      server.setTimeout(SILENCE_MS);
      connections.watch(server);
      const listeners = server.listeners("connection");
      server.removeAllListeners("connection");
      server.on("connection", (socket: Socket) => {
        if (!connections.admit(socket)) return;
        if (isOpen && !isProxy(socket.remoteAddress ?? "") && !isThisMachine(socket.remoteAddress ?? ""))
          return sendAway(socket, originOf());
        sort(socket, () => {
          for (const listener of listeners) listener.call(server, socket);
        });
      });
      return server;
    },
    async listen(app) {
      await app.listen({ host, port }).catch((error) => {
        if (error.code !== "EADDRINUSE") throw error;
        const remedy = "stop what listens there, or choose another with OUTRIDER_PORT or --port.";
        throw new Error(`Port ${port} of ${host} is taken: ${remedy}`);
      });
      const bound = app.server.address() as AddressInfo;
      const scheme = certificate ? "https" : "http";
      const shown = isAny(bound.address) ? hostname() : bound.address;
      listening = `${scheme}://${authority(shown, bound.port)}`;
      localOrigin = `http://${authority(isAny(bound.address) ? "127.0.0.1" : bound.address, bound.port)}`;
      if (door) {
        door.listen(0, "127.0.0.1");
        await once(door, "listening");
        localOrigin = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
      }
      log.info({ origin: listening, fingerprint: certificate?.current().fingerprint }, "listening");
    },
    listening: () => listening,
    origin: originOf,
    localOrigin: () => localOrigin,
    ...(certificate && files
      ? {
          certificate: {
            ...certificate,
            failures: () => certificate.failures() + unrenewed,
            file: files.cert,
          },
        }
      : {}),
    connections,
    isStrict: tls !== "self-signed" && (tls !== undefined || (publicUrl ?? "").startsWith("https:")),
    close() {
      clearInterval(renewal);
      certificate?.close();
      door?.close();
    },
  };
}

/** Here only the proxy speaks plain HTTP with us: a key from anybody else has crossed a network in the clear. */
function sendAway(socket: Socket, origin: string) {
  const said = `This address is for the proxy in front of it: use ${origin}\n`;
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: ${said.length}\r\nconnection: close\r\n\r\n`;
  socket.on("error", () => {}).end(head + said);
  setTimeout(() => socket.destroy(), 1_000).unref();
}

function authority(host: string, port: number): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function nameIn(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}

function isAny(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function isLoopbackName(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function isThisMachine(address: string): boolean {
  return address === "127.0.0.1" || address === "::1" || address === "::ffff:127.0.0.1";
}
