/** Thrown when a client sends something other than a push. The message is for the person who reads git's output. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}
