import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Asset, createAsset } from "../asset.ts";

export type Assets = ReturnType<typeof loadAssets>;

const { resolve } = createRequire(import.meta.url);

export function loadAssets(referenceDocument: string) {
  return {
    icon: ownFile("icon.svg"),
    pageStyle: ownFile("page.css"),
    errorsStyle: ownFile("errors.css"),
    referenceStyle: ownFile("reference.css"),
    referenceScript: ownFile("reference.js"),
    referenceDocument: versioned("reference.json", Buffer.from(referenceDocument)),
    rendererStyle: rendererFile("swagger-ui.css"),
    rendererScript: rendererFile("swagger-ui-bundle.js"),
  };
}

function ownFile(name: string): Asset {
  return versioned(name, readFileSync(new URL(name, import.meta.url)));
}

function rendererFile(name: string): Asset {
  return versioned(name, readFileSync(resolve(`swagger-ui-dist/${name}`)));
}

function versioned(name: string, content: Buffer): Asset {
  const version = createHash("sha256").update(content).digest("hex").slice(0, 16);
  return createAsset(`/docs/assets/${version}/${name}`, content);
}
