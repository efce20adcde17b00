import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveFile } from "./files.js";

const outside = ["/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/a/../../site-secret/x", "/..", "/%00", "/%", "/..%2fx"];
for (const url of outside)
  test(`rejects ${url}`, () => assert.equal(resolveFile("/srv/site", url), undefined));
const inside = {
  "/index.html": "/srv/site/index.html",
  "/a/../b.html": "/srv/site/b.html",
  "/notes..txt?v=1": "/srv/site/notes..txt",
  "/a%20b.html": "/srv/site/a b.html",
  "/": "/srv/site",
};
for (const [url, file] of Object.entries(inside))
  test(`accepts ${url}`, () => assert.equal(resolveFile("/srv/site", url)?.replace(/\/$/, ""), file));
test("accepts a root with a slash at its end", () =>
  assert.equal(resolveFile("/srv/site/", "/index.html"), "/srv/site/index.html"));
