import { serveJobs } from "../src/threads/serve-jobs.ts";

/** A program for a parser thread that fails in every way, depending on the message. */

serveJobs(({ bytes }: { bytes: Uint8Array }) => {
  switch (Buffer.from(bytes).toString().replace(/^.*,/, "")) {
    case "hang":
      for (;;);
    case "throw":
      throw new Error("thrown");
    case "exit":
      return process.exit(1);
    default:
      return { type: "unsolicited" };
  }
});
