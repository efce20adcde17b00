import type Docker from "dockerode";
import { isEngineError } from "../engine/errors.ts";

/**
 * Removes an image, unless another image or a container needs it. Returns whether it did. An engine removes an image
 * without a name together with the last one that is based on it.
 */
export async function removeImage(docker: Docker, id: string): Promise<boolean> {
  try {
    await docker.getImage(id).remove({ force: true });
    return true;
  } catch (error) {
    if (!isEngineError(error, "not_found", "image_not_found", "conflict")) throw error;
    return false;
  }
}
