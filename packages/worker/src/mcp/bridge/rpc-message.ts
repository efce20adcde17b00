import { z } from "zod";

/** The revisions of the protocol that the bridge speaks, newest first. They do not differ in what the bridge uses. */
export const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26"];

export const rpcErrors = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;

const Id = z.union([z.number(), z.string().max(200)]);
export type RpcId = z.infer<typeof Id>;

/** A request, a notification (without `id`) or a response (without `method`). */
export const RpcMessage = z.object({
  jsonrpc: z.literal("2.0"),
  id: Id.optional(),
  method: z.string().max(200).optional(),
  params: z.record(z.string(), z.unknown()).optional(),
});
export type RpcMessage = z.infer<typeof RpcMessage>;

export const InitializeParams = z.object({ protocolVersion: z.string().max(100) });

export const CallParams = z.object({
  name: z.string().max(1_000),
  arguments: z.record(z.string(), z.unknown()).optional(),
  _meta: z.object({ progressToken: Id.optional() }).optional(),
});
export type CallParams = z.infer<typeof CallParams>;

export const CancelParams = z.object({ requestId: Id });

export function rpcResult(id: RpcId, result: object): object {
  return { jsonrpc: "2.0", id, result };
}

export function rpcError(id: RpcId | null, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

export function rpcNotification(method: string, params: object): object {
  return { jsonrpc: "2.0", method, params };
}
