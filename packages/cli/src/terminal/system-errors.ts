/** What the error codes of the operating system mean, to follow "Cannot read FILE:" or "Cannot connect to HOST:". */
const meanings: Record<string, string> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOENT: "the file does not exist",
  EISDIR: "it is a directory",
  ENOTDIR: "part of the path is not a directory",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
  EMFILE: "too many files are open",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed",
  EPIPE: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name cannot be resolved",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  EHOSTUNREACH: "the host is unreachable",
  ENETUNREACH: "the network is unreachable",
};

/** Returns the meaning of an error, or of the error that caused it. */
export function describeSystemError(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const meaning = meanings[(each as NodeJS.ErrnoException).code ?? ""];
    if (meaning) return meaning;
  }
  return undefined;
}
