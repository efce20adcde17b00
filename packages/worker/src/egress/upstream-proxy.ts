/**
 * The company's own proxy, through which the worker and its sandboxes reach the network if the operator has set
 * OUTRIDER_UPSTREAM_PROXY.
 *
 * Its credential is used in this module and in forward.ts only. No error message, log line or response contains it.
 */
import { request } from "node:http";
import type { Socket } from "node:net";
import { connectTo } from "./connect.ts";
import { UnreachableError } from "./egress-errors.ts";
import { type Exceptions, parseExceptions } from "./exceptions.ts";
import { formatAuthority, normalizeHost, type Target } from "./host.ts";

const variable = "OUTRIDER_UPSTREAM_PROXY";
const maxHeaderBytes = 32 * 1024;

export interface ConnectOptions {
  timeoutMs: number;
  signal: AbortSignal;
}

export interface UpstreamProxy {
  /** `host:port`, for messages. */
  readonly name: string;
  /** The value of the `Proxy-Authorization` header. It is a secret. */
  readonly authorization: string | undefined;
  /** Returns whether the operator lists the host or one of its addresses in OUTRIDER_NO_PROXY. */
  isBypassed(target: Target, addresses?: string[]): boolean;
  /** Connects to the proxy itself, to send it a request in absolute form. */
  connect(options: ConnectOptions): Promise<Socket>;
  /** Connects to the target through the proxy. The proxy resolves the name. */
  tunnel(target: Target, options: ConnectOptions): Promise<Socket>;
}

/** Sockets whose remote address is that of the proxy and not that of their target. */
const tunnels = new WeakSet<Socket>();

export function isTunnel(socket: Socket): boolean {
  return tunnels.has(socket);
}

/**
 * Parses OUTRIDER_UPSTREAM_PROXY (`http://[user:password@]host[:port]`) and OUTRIDER_NO_PROXY. Returns undefined if no
 * proxy is set.
 */
export function parseUpstreamProxy({
  url = "",
  noProxy = "",
}: {
  url?: string | undefined;
  noProxy?: string | undefined;
}): UpstreamProxy | undefined {
  if (url === "") return undefined;
  const direct = parseNoProxy(noProxy);
  const { target, authorization } = parseProxyUrl(url);
  const name = formatAuthority(target);
  const connect = (options: ConnectOptions) =>
    connectTo({ address: target.host, port: target.port, ...options }).catch((error: UnreachableError) => {
      const problem = error.message.replace("the connection", `the connection to the upstream proxy ${name}`);
      throw new UnreachableError(error.status, problem, { cause: error });
    });
  return {
    name,
    authorization,
    isBypassed: (to, addresses = [""]) => addresses.some((address) => direct.covers({ ...to, address })),
    connect,
    async tunnel(to, options) {
      const socket = await connect(options);
      await requestTunnel(socket, { ...options, to, name, authorization });
      tunnels.add(socket);
      return socket;
    },
  };
}

/** Does not repeat the URL in its errors, because the URL may contain a password. */
function parseProxyUrl(text: string): { target: Target; authorization: string | undefined } {
  const invalid = (problem: string) =>
    new Error(`${variable} ${problem}. Example: http://proxy.example.com:3128`);
  if (!URL.canParse(text)) throw invalid("is not a URL");
  const { protocol, hostname, port, username, password, pathname, search } = new URL(text);
  if (protocol !== "http:") throw invalid("must start with http://");
  if (pathname !== "/" || search !== "") throw invalid("must contain only a host and a port");
  const host = normalizeHost(hostname);
  if (host === undefined) throw invalid("has an invalid host");
  let authorization: string | undefined;
  if (username !== "" || password !== "") {
    const credential = `${decode(username)}:${decode(password)}`;
    authorization = `Basic ${Buffer.from(credential).toString("base64")}`;
  }
  return { target: { host, port: Number(port || 80) }, authorization };

  function decode(part: string): string {
    try {
      return decodeURIComponent(part);
    } catch {
      throw invalid("has a user name or password that is not URL-encoded");
    }
  }
}

/** As in other programs' NO_PROXY, `.example.com` stands for the domain and its subdomains. */
function parseNoProxy(text: string): Pick<Exceptions, "covers"> {
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.includes("*")) return { covers: () => true };
  const list = entries.flatMap((entry) => (entry.startsWith(".") ? [entry.slice(1), `*${entry}`] : [entry]));
  try {
    return parseExceptions(list.join());
  } catch (error) {
    throw new Error(`OUTRIDER_NO_PROXY: ${(error as Error).message}`);
  }
}

function requestTunnel(
  socket: Socket,
  {
    to,
    name,
    authorization,
    timeoutMs,
    signal,
  }: ConnectOptions & { to: Target; name: string; authorization: string | undefined },
): Promise<void> {
  const authority = formatAuthority(to);
  return new Promise((resolve, reject) => {
    const fail = (error: UnreachableError) => {
      cleanUp();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    const timer = setTimeout(
      () => fail(new UnreachableError(504, `the upstream proxy ${name} did not respond in time`)),
      timeoutMs,
    );
    const onAbort = () => fail(new UnreachableError(502, "the proxy is closing"));
    const cleanUp = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const outgoing = request({
      createConnection: () => socket,
      method: "CONNECT",
      path: authority,
      headers: {
        host: authority,
        ...(authorization ? { "proxy-authorization": authorization } : {}),
      },
      setHost: false,
      maxHeaderSize: maxHeaderBytes,
    });
    outgoing.on("error", (cause: NodeJS.ErrnoException) => {
      const problem = cause.code?.startsWith("HPE_")
        ? "sent a response that is not HTTP"
        : `closed the connection (${cause.code ?? "no error code"})`;
      fail(new UnreachableError(502, `the upstream proxy ${name} ${problem}`, { cause }));
    });
    outgoing.once("connect", (response, _socket, head) => {
      if (response.statusCode !== 200)
        return fail(new UnreachableError(502, explainStatus(name, response.statusCode)));
      cleanUp();
      if (head.length > 0) socket.unshift(head);
      resolve();
    });
    outgoing.end();
  });
}

/** Explains a response of the upstream proxy. Its body is not quoted, because it is a page for people in a browser. */
export function explainStatus(name: string, status = 0): string {
  if (status === 407)
    return `the upstream proxy ${name} requires another credential; the operator of Outrider must correct ${variable}`;
  return `the upstream proxy ${name} did not open a connection (status ${status})`;
}
