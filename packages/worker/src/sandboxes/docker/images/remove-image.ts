import type Docker from "dockerode";
import { isEngineError } from "../engine/errors.ts";

/** Removes an image, unless another image or a container needs it. Images on which nothing is based go with the last one. */
export async function removeImage(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getImage(id).remove({ force: true });
  } catch (error) {
    if (!isEngineError(error, "not_found", "image_not_found", "conflict")) throw error;
  }
}
