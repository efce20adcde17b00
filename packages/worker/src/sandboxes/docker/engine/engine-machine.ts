/** The machine of an engine, which can be another one than the worker's, or a virtual machine. */
import { programArchitecture } from "../../files/programs.ts";
import type { Engine } from "./connect.ts";
import { EngineError } from "./errors.ts";

/** Containers execute the worker's own programs. `architecture`: the engine's, such as `amd64`. */
export function assertArchitecture(architecture: string, own = programArchitecture()): void {
  if (architecture === own) return;
  throw new EngineError(
    "failed",
    `The container engine runs on ${architecture}, but this worker's programs are for ${own}. Use an engine on a machine with ${own}, or run the worker on a machine with ${architecture}.`,
  );
}

/** Returns the memory of the machine in bytes, if the engine says it. */
export async function readMemory({ docker }: Engine): Promise<number | undefined> {
  const { MemTotal }: { MemTotal?: number } = await docker.info();
  return MemTotal !== undefined && MemTotal > 0 ? MemTotal : undefined;
}
