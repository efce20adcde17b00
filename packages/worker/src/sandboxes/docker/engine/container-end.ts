import type Docker from "dockerode";
import { EngineError, isEngineError } from "./errors.ts";

/**
 * Explains why a container that should run has ended, or why the connection to it broke. Asks the engine, so the error is
 * that of the engine if it does not respond.
 */
export async function explainContainerEnd(docker: Docker, id: string): Promise<EngineError> {
  let state: Docker.ContainerInspectInfo["State"];
  try {
    state = (await docker.getContainer(id).inspect()).State;
  } catch (error) {
    if (isEngineError(error, "not_found"))
      return new EngineError(
        "container_stopped",
        "Somebody removed the container of the sandbox from the container engine. Start the run again, and do not remove containers whose names start with outrider-.",
      );
    if (error instanceof EngineError) return error;
    throw error;
  }
  if (state.OOMKilled)
    return new EngineError(
      "out_of_memory",
      "The sandbox ran out of memory, and the kernel killed its first process. Raise `resources.memory_mb`, or use less memory.",
    );
  if (state.Running)
    return new EngineError(
      "unreachable",
      "The container engine closed the connection to the sandbox, but the container still runs. The engine may have restarted. Start the run again.",
    );
  // Docker does not set OOMKilled if it learns of the exit before it learns of the lack of memory.
  if (state.ExitCode === 137 || state.ExitCode === 143)
    return new EngineError(
      "container_stopped",
      "The container of the sandbox was stopped from outside, because the container engine restarted, or because it ran out of memory. Start the run again.",
    );
  const detail = state.Error ? ` (${state.Error.slice(0, 200)})` : "";
  return new EngineError(
    "container_stopped",
    `The container of the sandbox ended with exit code ${state.ExitCode}${detail}. Start the run again, and look at the engine's log if it happens again.`,
  );
}
