export type ImageErrorCode =
  | "invalid_reference"
  | "invalid_credentials"
  | "not_found"
  | "unauthorized"
  | "wrong_architecture"
  | "too_large"
  | "unreachable"
  | "corrupt"
  | "unsupported";

/** An error about an image that is shown to the environment's owner. Its message and remedy contain no secrets. */
export class ImageError extends Error {
  override name = "ImageError";
  readonly code: ImageErrorCode;
  readonly remedy: string;

  constructor(code: ImageErrorCode, message: string, remedy: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.remedy = remedy;
  }
}

/** Creates an error for data that the registry should not have sent. Another attempt is unlikely to succeed. */
export function corrupt(message: string, options?: ErrorOptions): ImageError {
  return new ImageError("corrupt", message, "Push the image again, or use another tag or registry.", options);
}

/** Creates an error for an image that is valid, but has something that Outrider does not support. */
export function unsupported(message: string): ImageError {
  return new ImageError(
    "unsupported",
    message,
    "Use another image, or build this one again with Docker or buildah.",
  );
}

export function tooLarge(message: string): ImageError {
  return new ImageError(
    "too_large",
    message,
    "Use a smaller image, or ask the operator to raise the limits for images.",
  );
}

/** Creates an error for a registry that does not respond. Another attempt may succeed. */
export function unreachable(message: string, options?: ErrorOptions): ImageError {
  return new ImageError(
    "unreachable",
    message,
    "Check the registry's address, and that this worker can reach it.",
    options,
  );
}

/** Makes text from outside fit for a message: one line of limited length without control characters. */
export function printable(text: string, maxLength = 200): string {
  const line = text.replaceAll(/[\p{C}\s]+/gu, " ").trim();
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}
