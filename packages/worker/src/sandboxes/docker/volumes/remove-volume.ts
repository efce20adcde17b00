import type Docker from "dockerode";
import { isEngineError } from "../engine/errors.ts";

/** Removes a volume, if it exists. Rejects if a container uses it. */
export async function removeVolume(docker: Docker, name: string): Promise<void> {
  try {
    await docker.getVolume(name).remove({ force: true });
  } catch (error) {
    if (!isEngineError(error, "not_found")) throw error;
  }
}
