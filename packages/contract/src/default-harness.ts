/** The built-in agent. This module does not import zod, so that pages without a form load quickly. */
export const DEFAULT_HARNESS = "outrider";
