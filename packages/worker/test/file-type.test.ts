import { expect, test } from "vitest";
import { fileType } from "../src/file-type.ts";

test.each([
  ["table.csv", "text/csv"],
  ["style.css", "text/css"],
  ["a.gif", "image/gif"],
  ["log.gz", "application/gzip"],
  ["index.htm", "text/html"],
  ["index.html", "text/html"],
  ["a.jpeg", "image/jpeg"],
  ["PHOTO.JPG", "image/jpeg"],
  ["data.json", "application/json"],
  ["README.md", "text/markdown"],
  ["demo.mp4", "video/mp4"],
  ["paper.pdf", "application/pdf"],
  ["a.png", "image/png"],
  ["a.svg", "image/svg+xml"],
  ["src.tar", "application/x-tar"],
  ["notes.txt", "text/plain"],
  ["demo.webm", "video/webm"],
  ["a.webp", "image/webp"],
  ["feed.xml", "application/xml"],
  ["all.zip", "application/zip"],
])("%s is %s, whatever its content", (name, type) => {
  expect(fileType(name, { isText: true })).toBe(type);
  expect(fileType(name, { isText: false })).toBe(type);
});

test.each([
  ...["main.ts", "main.mts", "main.cts", "app.tsx", "lib.rs", "kernel.cu", "graph.dot", "configure.ac"],
  ...["basic.t", "main.py", "main.go", "Makefile", "json", "md", ".zip", "archive.zip.unknown"],
])("the content decides about %s", (name) => {
  expect(fileType(name, { isText: true })).toBe("text/plain");
  expect(fileType(name, { isText: false })).toBe("application/octet-stream");
});
