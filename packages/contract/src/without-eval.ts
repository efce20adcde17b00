import { config } from "zod/v4/core";

/**
 * Import this module before any schema in a browser whose content security policy forbids `eval`. Otherwise, zod tests
 * whether it can compile schemas, and the browser reports the attempt as a violation.
 */
config({ jitless: true });
