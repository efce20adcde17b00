import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { explainUntrusted, trustOptions } from "@outrider/worker/server-client/certificate-trust";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK_TIMEOUT_MS = 5_000;
/** The maximum clock difference. It cannot be much lower, because the Date header has a resolution of one second. */
const CLOCK_SECONDS = 3;

interface ServerResponse {
  status: number;
  date: number;
}

/** Checks that a worker's server responds and accepts the worker key, and that the two clocks agree. */
export async function serverFindings(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { OUTRIDER_SERVER: server, OUTRIDER_WORKER_KEY: key, OUTRIDER_CA: ca } = environment;
  if (!server) return [];
  try {
    const { status, date } = await fetchStatus(new URL("/readyz", server), { ca });
    if (status !== 200)
      return [fail("server", `${server} returned ${status}`, "check the log of the server")];
    const offset = Date.now() / 1_000 - date;
    return [
      ok("server", `${server} is ready`),
      Math.abs(offset) > CLOCK_SECONDS
        ? warn(
            "clock",
            `${Math.round(Math.abs(offset))} s difference from the server`,
            "synchronize both machines with the same time source",
          )
        : ok("clock", "matches the server"),
      ...(key ? [await checkKey(server, key, ca)] : []),
    ];
  } catch (error) {
    const { message, code = "" } = error as Error & { code?: string };
    const remedy = explainUntrusted(error) ?? "check OUTRIDER_SERVER and the network connection";
    return [fail("server", `${server} is unreachable: ${message || code}`, remedy)];
  }
}

/** Checks the worker key. `GET /me` rejects a valid worker key with 403, and an invalid key with 401. */
async function checkKey(server: string, key: string, ca: string | undefined): Promise<Finding> {
  const { status } = await fetchStatus(new URL("/api/v1/me", server), { key, ca });
  if (status === 403) return ok("worker key", "accepted by the server");
  return status === 401
    ? fail("worker key", "rejected by the server", "ask an admin to run `outrider key create --type worker`")
    : warn("worker key", "not a worker key", "ask an admin to run `outrider key create --type worker`");
}

function fetchStatus(
  url: URL,
  { key, ca }: { key?: string; ca: string | undefined },
): Promise<ServerResponse> {
  const options = {
    headers: key ? { authorization: `Bearer ${key}` } : {},
    signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
    ...trustOptions(ca),
  };
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    send(url, options, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, date: Date.parse(response.headers.date ?? "") / 1_000 });
    })
      .on("error", reject)
      .end();
  });
}
