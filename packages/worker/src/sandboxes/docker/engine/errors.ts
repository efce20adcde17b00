import { printable } from "../../../images/image-error.ts";
import { SandboxLostError } from "../../sandbox.ts";

export type EngineErrorCode =
  /** Nothing accepts connections at the engine's address, or the connection broke. */
  | "unreachable"
  /** This user must not use the engine's socket. */
  | "forbidden"
  | "tls"
  | "unsupported_version"
  /** The engine did not respond in time. */
  | "timeout"
  /** No such container, volume or other object. */
  | "not_found"
  | "image_not_found"
  /** The object exists already, or its state does not allow the request. */
  | "conflict"
  | "pull_denied"
  | "registry_unreachable"
  | "disk_full"
  | "runtime_unknown"
  | "container_stopped"
  | "out_of_memory"
  | "canceled"
  | "failed";

/** The engine or the container ended for a reason that does not concern the run. Another attempt has other containers. */
const recoverableCodes: ReadonlySet<EngineErrorCode> = new Set([
  "unreachable",
  "timeout",
  "container_stopped",
]);

/** A failure of the container engine. The message says what is wrong and what to do. It contains no credentials. */
export class EngineError extends SandboxLostError {
  override name = "EngineError";
  readonly code: EngineErrorCode;
  /** The status of the engine's response, if there was one. */
  readonly statusCode: number | undefined;

  constructor(
    code: EngineErrorCode,
    message: string,
    { statusCode, cause }: { statusCode?: number | undefined; cause?: unknown } = {},
  ) {
    const isRecoverable = recoverableCodes.has(code);
    super(message, { isRecoverable, ...(cause === undefined ? {} : { cause }) });
    this.code = code;
    this.statusCode = statusCode;
  }
}

/** Returns whether the error is an EngineError with one of these codes. */
export function isEngineError(error: unknown, ...codes: EngineErrorCode[]): error is EngineError {
  return error instanceof EngineError && (codes.length === 0 || codes.includes(error.code));
}

interface ResponseError extends NodeJS.ErrnoException {
  statusCode?: number;
  json?: { message?: string; cause?: string } | Buffer | null;
}

/** Turns what the client library throws into an EngineError. `address` is the engine's, without credentials. */
export function explainEngineError(error: unknown, address: string): EngineError {
  if (error instanceof EngineError) return error;
  const failure = error as ResponseError;
  if (failure.statusCode !== undefined) return explainResponse(failure, failure.statusCode);
  return explainConnection(failure, address);
}

function explainConnection(error: ResponseError, address: string): EngineError {
  const code = error.code ?? "";
  const text = printable(error.message ?? String(error));
  const make = (kind: EngineErrorCode, message: string) => new EngineError(kind, message, { cause: error });
  if (error.name === "AbortError")
    return make("canceled", "The request to the container engine was canceled.");
  if (code === "EACCES" || code === "EPERM")
    return make(
      "forbidden",
      `This user must not use the container engine's socket ${address}. Add the user to the group of the socket, or run the worker as a user who may use it.`,
    );
  if (isTlsError(code, text))
    return make(
      "tls",
      `The TLS connection to the container engine at ${address} failed: ${text}. Check ca.pem, cert.pem and key.pem in the folder DOCKER_CERT_PATH, and the host name in the engine's certificate.`,
    );
  return make(
    "unreachable",
    `The container engine at ${address} does not respond: ${text}. Start Docker or Podman, or set OUTRIDER_DOCKER_HOST (--docker-host) to its address.`,
  );
}

function isTlsError(code: string, text: string): boolean {
  return (
    /^ERR_(TLS|SSL|OSSL)|CERT|SELF_SIGNED|UNABLE_TO_|^EPROTO$/.test(code) ||
    /bad certificate|unknown ca|certificate required|HTTP request to an HTTPS server/i.test(text)
  );
}

type Rule = [
  pattern: RegExp,
  code: EngineErrorCode,
  /** The sentences. The engine's own message follows in place of `%`. */
  message: string,
];

/** From specific to general, because the engines use the same status for many failures. */
const rules: Rule[] = [
  [
    /no space left on device|disk quota exceeded|not enough space/i,
    "disk_full",
    "The container engine's disk is full: %. Free space there, for example with `docker image prune`.",
  ],
  [
    /unknown or invalid runtime|unknown runtime|invalid runtime name|runtime "?[\w./-]*"? not found|specified runtime|default OCI runtime/i,
    "runtime_unknown",
    "The container engine does not have this runtime: %. Install and register the runtime with the engine, or choose another one.",
  ],
  [
    /unauthorized|authentication required|access (to the resource )?is denied|access denied|denied:|forbidden|incorrect username or password|no basic auth credentials/i,
    "pull_denied",
    "The registry denied access to the image: %. Store credentials that can read the image in a secret, and name the secret as `docker_image_secret`.",
  ],
  [
    /no such host|connection refused|i\/o timeout|TLS handshake timeout|Client\.Timeout|network is unreachable|no route to host|server misbehaving|temporary failure in name resolution|HTTP response to HTTPS client/i,
    "registry_unreachable",
    "The container engine cannot reach the registry: %. Check the registry's address, and the network and proxy of the engine.",
  ],
  [
    /manifest (for .* )?(not found|unknown)|no such image|image not known|name unknown|repository .* not found|unable to find .* image|requested access to the resource|no matching manifest/i,
    "image_not_found",
    "The image does not exist: %. Check its name and tag, and that it exists for the engine's architecture.",
  ],
  [
    /client version .* is too (new|old)|Minimum supported API version/i,
    "unsupported_version",
    "The container engine does not support this version of its API: %. Update Docker or Podman.",
  ],
  [
    /is not running|container .* is (stopped|paused)|can only (kill|attach|exec)|container state improper/i,
    "container_stopped",
    "The container is not running: %. Start the run again.",
  ],
];

function explainResponse(error: ResponseError, statusCode: number): EngineError {
  const text = printable(responseText(error), 400).replace(/\.$/, "");
  const rule = rules.find(([pattern]) => pattern.test(text));
  const make = (code: EngineErrorCode, message: string) =>
    new EngineError(code, message, { statusCode, cause: error });
  if (rule)
    return make(
      rule[1],
      rule[2].replace("%", () => text),
    );
  if (statusCode === 404)
    return make("not_found", `The container engine does not have this object: ${text}.`);
  if (statusCode === 409) return make("conflict", `The container engine refused the request: ${text}.`);
  return make("failed", `The container engine failed: ${text}. Look at the engine's log.`);
}

/** dockerode's message repeats the status, so the response itself is better. */
function responseText({ json, message }: ResponseError): string {
  if (json && !Buffer.isBuffer(json) && typeof json.message === "string" && json.message !== "")
    return json.message;
  return message.replace(/^\(HTTP code \d+\) [^-]*- /, "").trim() || "it gave no reason";
}

/** Turns a failure that arrives within a stream, such as that of a pull, into an EngineError. */
export function explainStreamError(message: string): EngineError {
  return explainResponse({ name: "Error", message, json: { message } }, 500);
}
