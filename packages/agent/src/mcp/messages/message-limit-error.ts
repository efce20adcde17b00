/** Thrown when a part of a message exceeds a limit. The message is a full sentence about the server. */
export class MessageLimitError extends Error {
  override name = "MessageLimitError";
}
