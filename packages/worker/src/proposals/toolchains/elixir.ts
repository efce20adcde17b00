import { shorten, toolVersion } from "../versions.ts";
import { noPreset, type Toolchain } from "./toolchain.ts";

const DEFAULT_VERSION = "1.18";

export const elixir: Toolchain = {
  name: "Elixir",
  find(folder) {
    if (!folder.has("mix.lock")) return undefined;
    const named = toolVersion(folder, "elixir");
    return {
      file: "mix.lock",
      image: `elixir:${named ? shorten(named, 2) : DEFAULT_VERSION}`,
      imageReason: named
        ? `\`.tool-versions\` names Elixir ${named}`
        : "`mix.lock` needs Elixir, and no file names its version",
      commands: ["mix local.hex --force && mix local.rebar --force", "mix deps.get"],
      notes: [noPreset("Hex packages")],
    };
  },
};
