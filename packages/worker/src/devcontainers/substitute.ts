import { posix } from "node:path";

/** `${name}`, `${name:argument}` and `${name:argument:default}`. */
const reference = /\$\{([A-Za-z]+)(?::([^}:]*))?(?::([^}]*))?\}/g;

interface SubstituteOptions {
  /** The folder of the repository in the sandbox. */
  workspaceFolder: string;
  /** Called for a variable of the host without a default. It becomes empty. */
  onHostVariable(name: string): void;
}

/** Resolves the variables of devcontainer.json, except `${containerEnv:NAME}`. Other `${…}` belong to the shell. */
export function substitute(text: string, { workspaceFolder, onHostVariable }: SubstituteOptions): string {
  return text.replaceAll(reference, (whole, kind: string, name: string | undefined, fallback?: string) => {
    switch (kind) {
      case "containerWorkspaceFolder":
      case "localWorkspaceFolder":
        return workspaceFolder;
      case "containerWorkspaceFolderBasename":
      case "localWorkspaceFolderBasename":
        return posix.basename(workspaceFolder);
      case "localEnv":
        if (fallback === undefined) onHostVariable(name ?? "");
        return fallback ?? "";
      default:
        return whole;
    }
  });
}

/** Resolves `${containerEnv:NAME}` and `${containerEnv:NAME:default}`. */
export function substituteContainerEnv(text: string, env: Record<string, string>): string {
  return text.replaceAll(reference, (whole, kind: string, name = "", fallback = "") => {
    if (kind !== "containerEnv") return whole;
    return (Object.hasOwn(env, name) ? env[name] : undefined) ?? fallback;
  });
}

/** Replaces `${containerEnv:NAME}` in a command with `replacement`, for example with the shell's `${NAME}`. */
export function replaceContainerEnv(command: string, replacement: (expansion: string) => string): string {
  return command.replaceAll(reference, (whole, kind: string, name = "", fallback?: string) => {
    if (kind !== "containerEnv") return whole;
    const isSimple = /^[A-Za-z_]\w*$/.test(name) && /^[\w./:@-]*$/.test(fallback ?? "");
    if (!isSimple)
      throw new Error(`The variable ${whole} in a command is not supported: use the shell's own.`);
    return replacement(`\${${name}:-${fallback ?? ""}}`);
  });
}
