import { ImageError, type ImageErrorCode } from "../../../images/image-error.ts";
import type { Reference } from "../../../images/reference.ts";
import { EngineError, type EngineErrorCode } from "../engine/errors.ts";

const codes: Partial<Record<EngineErrorCode, ImageErrorCode>> = {
  image_not_found: "not_found",
  not_found: "not_found",
  pull_denied: "unauthorized",
  registry_unreachable: "unreachable",
};

/** Turns the engine's failure to pull into an error for the environment's owner. Failures of the engine itself stay. */
export function explainPullError(error: unknown, { text }: Pick<Reference, "text">): unknown {
  if (!(error instanceof EngineError)) return error;
  if (
    /no matching manifest|does not match the (specified|detected) platform|image operating system/i.test(
      error.message,
    )
  )
    return new ImageError(
      "wrong_architecture",
      `The image ${text} is not available for the processor of the container engine.`,
      "Use an image for that processor, or a worker with another one.",
      { cause: error },
    );
  const code = codes[error.code];
  if (!code) return error;
  const { message, remedy } = split(error.message);
  return new ImageError(code, `${text}: ${message}`, remedy, { cause: error });
}

/** The last sentence of an EngineError says what to do. */
function split(text: string): { message: string; remedy: string } {
  const at = text.lastIndexOf(". ", text.length - 2);
  return at < 0
    ? { message: text, remedy: "" }
    : { message: text.slice(0, at + 1), remedy: text.slice(at + 2) };
}
