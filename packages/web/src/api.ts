import { Outrider } from "@outrider/sdk";
import { observedFetch } from "./frame/connection.ts";

/** The public SDK client. The session cookie authenticates its requests. */
export const outrider = new Outrider({
  apiKey: null,
  baseURL: `${location.origin}/api/v1`,
  logLevel: "off",
  fetch: observedFetch,
});
