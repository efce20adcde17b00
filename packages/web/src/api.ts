import { Outrider } from "@outrider/sdk";

/** The same client that everybody has; the cookie says who asks. */
export const outrider = new Outrider({
  apiKey: null,
  baseURL: `${location.origin}/api/v1`,
  logLevel: "off",
});
