/** A test checks that this matches package.json. */
export const version = "0.1.0";
