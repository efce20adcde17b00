import { connect, type Socket } from "node:net";
import { UnreachableError } from "./egress-errors.ts";

/** Opens a TCP connection. Rejects with an UnreachableError. */
export function connectTo({
  address,
  port,
  timeoutMs,
  signal,
}: {
  address: string;
  port: number;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => fail(new UnreachableError(504, "the connection timed out")), timeoutMs);
    const fail = (error: UnreachableError) => {
      cleanUp();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    const onError = (cause: NodeJS.ErrnoException) =>
      fail(new UnreachableError(502, `the connection failed (${cause.code ?? "unknown error"})`, { cause }));
    const onAbort = () => fail(new UnreachableError(502, "the proxy is closing"));
    const cleanUp = () => {
      clearTimeout(timer);
      socket.off("error", onError);
      signal.removeEventListener("abort", onAbort);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", onError);
    socket.once("connect", () => {
      cleanUp();
      resolve(socket);
    });
  });
}
