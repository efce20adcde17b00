import type { Config } from "../../config.ts";

/** Explains why the server cannot listen, and how to fix it. Returns other errors unchanged. */
export function explainListenError(
  error: NodeJS.ErrnoException,
  { host, port }: Pick<Config, "host" | "port">,
): Error {
  switch (error.code) {
    case "EADDRINUSE":
      return new Error(
        `Port ${port} on ${host} is already in use. Stop the process that uses it, or choose another port with --port or OUTRIDER_PORT.`,
      );
    case "EACCES":
      return new Error(
        `This user is not allowed to listen on port ${port} of ${host}. Choose a port from 1024 with --port or OUTRIDER_PORT, or grant the process CAP_NET_BIND_SERVICE.`,
      );
    case "EADDRNOTAVAIL":
      return new Error(
        `This machine does not have the address ${host}. Set --host or OUTRIDER_HOST to one of its addresses.`,
      );
    default:
      return error;
  }
}
