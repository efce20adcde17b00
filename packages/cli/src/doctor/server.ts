import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { authoritiesWith, distrustOf } from "@outrider/worker/trust";
import { type Finding, fail, ok, warn } from "./finding.ts";

const REACH_MS = 5_000;
/** The Date header has whole seconds. */
const CLOCK_SECONDS = 3;

interface Answered {
  status: number;
  date: number;
}

/** The server that a worker here would serve: whether it answers, takes the key, and has the same time. */
export async function serverFindings(environment: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { OUTRIDER_SERVER: server, OUTRIDER_WORKER_KEY: key, OUTRIDER_CA: ca } = environment;
  if (!server) return [];
  try {
    const { status, date } = await ask(new URL("/readyz", server), { ca });
    if (status !== 200) return [fail("server", `${server} answers ${status}`, "look at the server's log")];
    const offset = Date.now() / 1_000 - date;
    return [
      ok("server", `${server} is ready`),
      Math.abs(offset) > CLOCK_SECONDS
        ? warn(
            "clock",
            `${Math.round(Math.abs(offset))} s from the server's`,
            "let both take their time from the same source",
          )
        : ok("clock", "that of the server"),
      ...(key ? [await keyFinding(server, key, ca)] : []),
    ];
  } catch (error) {
    const { message, code = "" } = error as Error & { code?: string };
    const remedy =
      distrustOf(error) ?? "see that OUTRIDER_SERVER is right and that this machine may reach it";
    return [fail("server", `${server} cannot be reached: ${message || code}`, remedy)];
  }
}

/** A worker key may not ask who it is: that it is told so says that it is known. */
async function keyFinding(server: string, key: string, ca: string | undefined): Promise<Finding> {
  const { status } = await ask(new URL("/api/v1/me", server), { key, ca });
  if (status === 403) return ok("worker key", "the server knows it");
  return status === 401
    ? fail(
        "worker key",
        "the server does not take it",
        "an admin makes another: `outrider key create --type worker`",
      )
    : warn("worker key", "it is no worker key", "an admin makes one: `outrider key create --type worker`");
}

function ask(url: URL, { key, ca }: { key?: string; ca: string | undefined }): Promise<Answered> {
  const options = {
    headers: key ? { authorization: `Bearer ${key}` } : {},
    signal: AbortSignal.timeout(REACH_MS),
    ...authoritiesWith(ca),
  };
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    send(url, options, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode ?? 0, date: Date.parse(answer.headers.date ?? "") / 1_000 });
    })
      .on("error", reject)
      .end();
  });
}
