/**
 * Import this module before any schema in a browser whose content security policy forbids `eval`. Otherwise, zod tests
 * whether it can compile schemas, and the browser reports the attempt as a violation. zod keeps its settings in this
 * global object. Calling its `config` function would do the same, and would load a part of zod with every page.
 */
const settings = globalThis as { __zod_globalConfig?: { jitless?: boolean } };
settings.__zod_globalConfig = { ...settings.__zod_globalConfig, jitless: true };
