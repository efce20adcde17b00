import { createServer } from "node:net";
import { expect, test } from "vitest";
import { requireFreePort } from "../../src/api/http/http-server.ts";
import { explainListenError } from "../../src/api/http/listen-error.ts";

test("explains a missing right to use a port", () => {
  const error = Object.assign(new Error("listen EACCES: permission denied 0.0.0.0:80"), { code: "EACCES" });
  expect(explainListenError(error, { host: "0.0.0.0", port: 80 }).message).toBe(
    "This user is not allowed to listen on port 80 of 0.0.0.0. Choose a port from 1024 with --port or OUTRIDER_PORT, or grant the process CAP_NET_BIND_SERVICE.",
  );
});

test("explains an address of another machine", async () => {
  // No machine has this address, which is reserved for documentation.
  await expect(requireFreePort({ host: "192.0.2.1", port: 4_000 })).rejects.toThrow(
    "This machine does not have the address 192.0.2.1. Set --host or OUTRIDER_HOST to one of its addresses.",
  );
});

test("explains a port in use", async () => {
  const other = createServer();
  const port = await new Promise<number>((resolve) => {
    other.listen(0, "127.0.0.1", () => resolve((other.address() as { port: number }).port));
  });
  await expect(requireFreePort({ host: "127.0.0.1", port })).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is already in use.`,
  );
  other.close();
});

test("leaves other errors as they are", () => {
  const error = new Error("something else");
  expect(explainListenError(error, { host: "127.0.0.1", port: 80 })).toBe(error);
});
