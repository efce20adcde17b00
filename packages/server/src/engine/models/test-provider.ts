/**
 * Tests a provider with a real call and says in words what is wrong. The call is made with the client that runs use. That
 * code is loaded on the first test, because a server needs it for nothing else.
 */
import type { TestCallResult } from "@outrider/agent/models/test-call";
import type { ModelTest } from "@outrider/contract/model-provider";
import type { AssignedModel } from "@outrider/contract/worker";
import { OutboundError } from "../../outbound/outbound-error.ts";
import type { OutboundNetwork } from "../../outbound/outbound-network.ts";

const TIMEOUT_MS = 20_000;
const MAX_RESPONSE_BYTES = 2 ** 20;
const MAX_RESPONSE_CHARACTERS = 500;
const MAX_REASON_CHARACTERS = 300;
const MAX_CAUSES = 8;

interface TestOptions {
  work: AssignedModel;
  network: OutboundNetwork;
  /** The address for error messages. */
  host: string;
}

export async function testProvider({ work, network, host }: TestOptions): Promise<ModelTest> {
  const { makeTestCall } = await import("@outrider/agent/models/test-call");
  const startedAt = performance.now();
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const send = network.fetch({ timeoutMs: TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES });
  const result = await makeTestCall(work, {
    send: (url, init) => send(url instanceof Request ? url.url : url, init),
    signal: timeout,
  });
  const latency_ms = Math.round(performance.now() - startedAt);
  const { model_id } = work;
  const tested_at = new Date().toISOString();
  const mask = createMask(work);
  if (result.type === "error") {
    const { message, remedy } = describe(result, { model_id, host, isTimeout: timeout.aborted, mask });
    return { ok: false, model_id, message, remedy, tested_at };
  }
  const { text, inputTokens, outputTokens } = result;
  const response = [...mask(text).trim()].slice(0, MAX_RESPONSE_CHARACTERS).join("");
  return {
    ok: true,
    model_id,
    latency_ms,
    response,
    ...(isCount(inputTokens) ? { input_tokens: inputTokens } : {}),
    ...(isCount(outputTokens) ? { output_tokens: outputTokens } : {}),
    message: response
      ? `${model_id} answered in ${latency_ms} ms.`
      : `${model_id} responded in ${latency_ms} ms without text.`,
    tested_at,
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}

interface Context {
  model_id: string;
  host: string;
  isTimeout: boolean;
  mask(text: string): string;
}

type Described = Pick<ModelTest, "message"> & { remedy: string };

function describe(error: Extract<TestCallResult, { type: "error" }>, context: Context): Described {
  const { status, kind, message } = error;
  const { model_id, host, isTimeout, mask } = context;
  const refusal = causeOf(error.cause);
  if (isTimeout || refusal?.message.includes("did not respond within"))
    return {
      message: `${host} did not answer within ${TIMEOUT_MS / 1_000} s.`,
      remedy: "Test again. If it stays slow, check the network of the server and the load of the provider.",
    };
  if (refusal) return describeNetwork(refusal, host);
  const quoted = shorten(mask(message));
  if (status === 401)
    return {
      message: `${host} rejected the API key.`,
      remedy: "Copy the key again from the provider, without spaces, and save it.",
    };
  if (status === 403)
    return {
      message: `${host} does not allow this key to use ${model_id}: ${quoted}`,
      remedy: "Give the key access to the model, or test another model.",
    };
  if (status === 404)
    return {
      message: `${host} does not know this model or address: ${quoted}`,
      remedy: "Check the name of the model and the base URL. The base URL usually ends in /v1.",
    };
  if (/insufficient_quota|billing|credit balance/.test(kind) || status === 402)
    return {
      message: `The account at ${host} has no quota left: ${quoted}`,
      remedy: "Add credit or raise the limit at the provider.",
    };
  if (status === 429)
    return {
      message: `${host} limits requests right now: ${quoted}`,
      remedy: "Wait a minute and test again, or raise the rate limit at the provider.",
    };
  if (status !== undefined && status >= 500)
    return {
      message: `${host} has a problem of its own (${status}): ${quoted}`,
      remedy: "Test again in a minute, and look at the provider's status page.",
    };
  if (status !== undefined && status >= 300 && status < 400)
    return {
      message: `${host} redirects to another address.`,
      remedy: "Set the base URL to the address that it redirects to.",
    };
  return {
    message: `The call to ${host} failed: ${quoted || "the response is not what this type of provider sends"}`,
    remedy: "Check the type of the provider, the base URL and the name of the model.",
  };
}

function describeNetwork({ message }: OutboundError, host: string): Described {
  if (/certificate/.test(message)) {
    const [problem = message] = message.split(" Set OUTRIDER_EXTRA_CA");
    return {
      message: problem,
      remedy: "Set OUTRIDER_EXTRA_CA to a file with its authority, for servers and workers.",
    };
  }
  if (/OUTRIDER_ALLOW_ADDRESSES/.test(message)) {
    const [problem = message] = message.split(" The operator");
    return {
      message: problem,
      remedy: `Ask the operator to add ${host} to OUTRIDER_ALLOW_ADDRESSES of servers and workers.`,
    };
  }
  return {
    message,
    remedy: "Check the base URL, and that the server and its workers can reach this address.",
  };
}

/** Finds the error of the network below those of the client. */
function causeOf(error: unknown): OutboundError | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    if (cause instanceof OutboundError) return cause;
    cause = cause.cause;
  }
  return undefined;
}

/** Removes the credentials of the provider from a text that it sent. */
function createMask({ api_key, headers = {}, credentials = {} }: AssignedModel): (text: string) => string {
  const secrets = [api_key, ...Object.values(headers), ...Object.values(credentials)].filter(
    (secret): secret is string => secret !== undefined && secret.length >= 4,
  );
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, "[key]"), text);
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= MAX_REASON_CHARACTERS ? line : `${line.slice(0, MAX_REASON_CHARACTERS)}…`;
}
