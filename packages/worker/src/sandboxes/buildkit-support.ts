/** Runtimes whose containers use the kernel of the engine's machine. */
const sharedKernelRuntime = /^(io\.containerd\.runc\.v\d+|runc|crun|youki|nvidia)$/;

/**
 * Returns why the BuildKit of an engine cannot execute Dockerfiles, or undefined. BuildKit executes commands with runc,
 * whatever the runtime of containers is. With gVisor or Kata Containers, they would leave the kernel that protects the
 * engine's machine.
 */
export function explainBuildKitProblem({
  engine,
  title,
  runtime,
}: {
  engine: string;
  /** The name and version of the engine. */
  title: string;
  /** That of the containers, also if it is the engine's default. */
  runtime: string | undefined;
}): string | undefined {
  if (engine !== "docker") return `${title} has no BuildKit.`;
  if (runtime !== undefined && !sharedKernelRuntime.test(runtime))
    return `BuildKit cannot execute commands with the runtime ${runtime}.`;
  return undefined;
}
