import { shorten } from "../versions.ts";
import type { Toolchain } from "./toolchain.ts";

/** The first release with an image of this version of Debian and with toolchain lines in go.mod. */
const OLDEST_MINOR = 21;

export const go: Toolchain = {
  name: "Go",
  preset: "go",
  find(folder) {
    if (!folder.has("go.mod")) return undefined;
    const text = folder.text("go.mod").slice(0, 100_000);
    const named =
      /^toolchain\s+go(1\.\d{1,3})/m.exec(text)?.[1] ?? /^go\s+(1\.\d{1,3}(?:\.\d{1,3})?)/m.exec(text)?.[1];
    const minor = named && shorten(named, 2);
    const isRecent = minor !== undefined && Number(minor.slice(2)) >= OLDEST_MINOR;
    return {
      file: "go.mod",
      image: isRecent ? `golang:${minor}-bookworm` : "golang:1-bookworm",
      imageReason: isRecent
        ? `\`go.mod\` names Go ${minor}`
        : "newer releases of Go build what `go.mod` describes",
      commands: ["go mod download"],
    };
  },
};
