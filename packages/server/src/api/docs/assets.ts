import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** A file of the pages. Its address holds a hash of the content, so a browser may keep it for good. */
export interface Asset {
  address: string;
  type: string;
  content: Buffer;
  /** The content for browsers that take gzip, compressed when the first of them asks. */
  gzipped(): Promise<Buffer>;
}

export type Assets = ReturnType<typeof loadAssets>;

const types = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
};

const compress = promisify(gzip);
const { resolve } = createRequire(import.meta.url);

export function loadAssets(referenceDocument: string) {
  return {
    icon: ownFile("icon.svg"),
    pageStyle: ownFile("page.css"),
    errorsStyle: ownFile("errors.css"),
    referenceStyle: ownFile("reference.css"),
    referenceScript: ownFile("reference.js"),
    referenceDocument: asset("reference.json", Buffer.from(referenceDocument)),
    rendererStyle: rendererFile("swagger-ui.css"),
    rendererScript: rendererFile("swagger-ui-bundle.js"),
  };
}

function ownFile(name: string): Asset {
  return asset(name, readFileSync(new URL(name, import.meta.url)));
}

function rendererFile(name: string): Asset {
  return asset(name, readFileSync(resolve(`swagger-ui-dist/${name}`)));
}

function asset(name: string, content: Buffer): Asset {
  const version = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const extension = name.split(".").at(-1) as keyof typeof types;
  let compressed: Promise<Buffer> | undefined;
  return {
    address: `/docs/assets/${version}/${name}`,
    type: types[extension],
    content,
    gzipped() {
      compressed ??= compress(content, { level: 9 });
      return compressed;
    },
  };
}

export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  return String(acceptEncoding ?? "")
    .split(",")
    .some((coding) => /^\s*gzip\s*(;(?!\s*q=0(\.0*)?\s*$).*)?$/i.test(coding));
}
