/**
 * The progress of a build, which BuildKit reports as protocol buffers within the engine's messages. Only the fields that are
 * used are declared here.
 */
import protobuf from "protobufjs/light.js";

/** A step of a build, such as an instruction. BuildKit reports it again whenever its state changes. */
export interface TracedStep {
  digest: string;
  name: string;
  cached?: boolean;
  started?: unknown;
  completed?: unknown;
  error?: string;
}

export interface TracedOutput {
  /** The digest of the step. */
  vertex: string;
  msg: Uint8Array;
}

export interface BuildTrace {
  vertexes: TracedStep[];
  logs: TracedOutput[];
}

const schema = protobuf.Root.fromJSON({
  nested: {
    StatusResponse: {
      fields: {
        vertexes: { rule: "repeated", type: "Vertex", id: 1 },
        logs: { rule: "repeated", type: "VertexLog", id: 3 },
      },
    },
    Vertex: {
      fields: {
        digest: { type: "string", id: 1 },
        name: { type: "string", id: 3 },
        cached: { type: "bool", id: 4 },
        started: { type: "Timestamp", id: 5 },
        completed: { type: "Timestamp", id: 6 },
        error: { type: "string", id: 7 },
      },
    },
    VertexLog: { fields: { vertex: { type: "string", id: 1 }, msg: { type: "bytes", id: 4 } } },
    Timestamp: { fields: { seconds: { type: "int64", id: 1 }, nanos: { type: "int32", id: 2 } } },
  },
});
const statusResponse = schema.lookupType("StatusResponse");

/** Decodes the `aux` of a message whose id is `moby.buildkit.trace`. */
export function decodeTrace(aux: string): BuildTrace {
  const decoded = statusResponse.decode(Buffer.from(aux, "base64"));
  return statusResponse.toObject(decoded, { arrays: true }) as BuildTrace;
}
