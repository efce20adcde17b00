import { constants } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import type { TlsOptions } from "node:tls";
import { limits } from "@outrider/contract/limits";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import { startTicker } from "../../ticker.ts";
import { Connections } from "./connections.ts";
import { explainListenError } from "./listen-error.ts";
import { type Certificate, openCertificate } from "./tls/certificate.ts";
import { createTlsDetector } from "./tls/detect-tls.ts";
import { ensureSelfSigned } from "./tls/self-signed.ts";

const DAY_MS = 86_400_000;

/** Timeouts for Node's HTTP server. body-timeout.ts sets a shorter timeout for the bodies of API requests. */
const timeouts: ServerOptions = {
  headersTimeout: 15_000,
  // Workers upload large files, possibly over a slow network.
  requestTimeout: 900_000,
  // Must be longer than proxies keep idle connections open (Caddy: two minutes). Otherwise a proxy could send a request
  // over a connection that the server is closing.
  keepAliveTimeout: 150_000,
  connectionsCheckingInterval: 2_000,
};
/** Connections without any traffic are closed after this time. Streams and long polls send data more often. */
const IDLE_TIMEOUT_MS = 120_000;

/** HTTP/2 is not offered, because a client could open thousands of streams on one connection. */
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
  // With renegotiation, a TLS 1.2 client could make the server repeat the expensive part of the handshake.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  handshakeTimeout: 10_000,
};

export interface HttpServerOptions {
  config: Config;
  /** Whether the address belongs to a trusted reverse proxy. */
  isProxy(address: string): boolean;
  log: Logger;
}

/** The layer between the network and the app: the listening socket, TLS and connection limits. */
export interface HttpServer {
  createServer(listener: RequestListener): Server;
  listen(app: FastifyInstance): Promise<void>;
  /** Returns the URL that the server listens on. */
  listenUrl(): string;
  /** Returns the URL that clients use: the public URL if one is set, otherwise the listening URL. */
  origin(): string;
  /** Returns the URL for workers on this machine. It uses plain HTTP, so they need not trust the certificate. */
  localOrigin(): string;
  certificate?: Certificate & { file: string };
  connections: Pick<Connections, "count" | "closed">;
  /** False for a self-signed certificate: with HSTS, browsers would not let users accept it. */
  sendsHsts: boolean;
  close(): void;
}

export async function openHttpServer({ config, isProxy, log }: HttpServerOptions): Promise<HttpServer> {
  const { host, port, publicUrl, tls, dataDir } = config;
  const connections = new Connections({
    max: config.maxConnections,
    maxPerAddress: config.maxConnectionsPerAddress,
    isExempt: (address) => isProxy(address) || isThisMachine(address),
  });
  const names = [
    ...(isUnspecifiedAddress(host) ? [] : [host]),
    ...(publicUrl ? [hostnameOf(publicUrl)] : []),
  ];
  const ensureOwnCertificate = () => ensureSelfSigned(dataDir, names);
  const files = tls === "self-signed" ? await ensureOwnCertificate() : tls;
  let server: Server;
  let listenUrl = "";
  let localOrigin = "";
  let failedRenewals = 0;
  const certificate =
    files &&
    (await openCertificate(files, {
      log,
      // Open connections keep the previous certificate; the next handshake uses the new one.
      onRenewed: ({ cert, key }) =>
        (server as unknown as SecureServer).setSecureContext({ ...tlsOptions, cert, key }),
    }));
  // Renewal only writes the files. `openCertificate` watches them and loads the new certificate.
  const renewal = tls === "self-signed" ? startTicker({ everyMs: DAY_MS, task: renew }) : undefined;
  const localServer = certificate && createTcpServer((socket) => server.emit("secureConnection", socket));

  const originOf = () => publicUrl ?? listenUrl;

  async function renew() {
    await ensureOwnCertificate().catch((error) => {
      failedRenewals++;
      log.error({ error }, "failed to renew certificate");
    });
  }

  function createNodeServer(listener: RequestListener): Server {
    const options = { ...timeouts, maxHeaderSize: limits.header, requireHostHeader: false };
    if (!certificate) return createServer(options, listener);
    const { cert, key } = certificate.current();
    return createSecureServer({ ...options, ...tlsOptions, cert, key }, listener) as unknown as Server;
  }

  const acceptAny = (_socket: Socket, accept: () => void) => accept();
  const requireTls = certificate ? createTlsDetector(originOf) : acceptAny;
  const acceptsOnlyProxies = certificate === undefined && !isLoopbackName(host);

  return {
    createServer(listener) {
      server = createNodeServer(listener);
      server.setTimeout(IDLE_TIMEOUT_MS);
      connections.watch(server);
      const listeners = server.listeners("connection");
      server.removeAllListeners("connection");
      server.on("connection", (socket: Socket) => {
        if (!connections.admit(socket)) return;
        const address = socket.remoteAddress ?? "";
        if (acceptsOnlyProxies && !isProxy(address) && !isThisMachine(address))
          return rejectDirectClient(socket, originOf());
        requireTls(socket, () => {
          for (const listener of listeners) listener.call(server, socket);
        });
      });
      return server;
    },
    async listen(app) {
      await app.listen({ host, port }).catch((error) => {
        throw explainListenError(error, config);
      });
      const bound = app.server.address() as AddressInfo;
      const scheme = certificate ? "https" : "http";
      const shown = isUnspecifiedAddress(bound.address) ? hostname() : bound.address;
      listenUrl = `${scheme}://${hostAndPort(shown, bound.port)}`;
      localOrigin = `http://${hostAndPort(isUnspecifiedAddress(bound.address) ? "127.0.0.1" : bound.address, bound.port)}`;
      if (localServer) {
        localServer.listen(0, "127.0.0.1");
        await once(localServer, "listening");
        localOrigin = `http://127.0.0.1:${(localServer.address() as AddressInfo).port}`;
      }
      log.info({ origin: listenUrl, fingerprint: certificate?.current().fingerprint }, "listening");
    },
    listenUrl: () => listenUrl,
    origin: originOf,
    localOrigin: () => localOrigin,
    ...(certificate && files
      ? {
          certificate: {
            ...certificate,
            failures: () => certificate.failures() + failedRenewals,
            file: files.cert,
          },
        }
      : {}),
    connections,
    sendsHsts: tls !== "self-signed" && (tls !== undefined || (publicUrl ?? "").startsWith("https:")),
    close() {
      void renewal?.stop();
      certificate?.close();
      localServer?.close();
    },
  };
}

/**
 * Throws if the server cannot listen, for example because another process uses the port. Called before anything is
 * created, so that a failed first start leaves no database and no keys behind.
 */
export async function requireFreePort(config: Pick<Config, "host" | "port">): Promise<void> {
  const { host, port } = config;
  if (port === 0) return;
  const probe = createTcpServer().listen({ host, port });
  await once(probe, "listening").catch((error) => {
    throw explainListenError(error, config);
  });
  probe.close();
  await once(probe, "close");
}

/** Rejects clients that bypass the proxy with plain HTTP, because their keys would cross the network in clear text. */
function rejectDirectClient(socket: Socket, origin: string) {
  const text = `Only the reverse proxy may connect to this port. Use ${origin}\n`;
  const head = `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n`;
  socket.on("error", () => {}).end(head + text);
  setTimeout(() => socket.destroy(), 1_000).unref();
}

function hostAndPort(host: string, port: number): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function hostnameOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}

function isUnspecifiedAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function isLoopbackName(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function isThisMachine(address: string): boolean {
  return address === "127.0.0.1" || address === "::1" || address === "::ffff:127.0.0.1";
}
