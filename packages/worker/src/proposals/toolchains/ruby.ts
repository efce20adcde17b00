import { firstVersion, shorten, toolVersion } from "../versions.ts";
import { findVersion, noPreset, type Toolchain } from "./toolchain.ts";

const DEFAULT_VERSION = "3.4";

export const ruby: Toolchain = {
  name: "Ruby",
  find(folder) {
    if (!folder.has("Gemfile.lock")) return undefined;
    const locked = /^RUBY VERSION\s+ruby (\d+\.\d+\.\d+)/m.exec(folder.text("Gemfile.lock"))?.[1];
    const found = findVersion(
      ["`.ruby-version`", minorOf(folder.inheritedText(".ruby-version"))],
      ["`.tool-versions`", minorOf(toolVersion(folder, "ruby") ?? "")],
      ["`Gemfile.lock`", minorOf(locked ?? "")],
    );
    return {
      file: "Gemfile.lock",
      image: `ruby:${found?.version ?? DEFAULT_VERSION}-bookworm`,
      imageReason: found
        ? `${found.source} names Ruby ${found.version}`
        : "`Gemfile.lock` needs Ruby, and no file names its version",
      commands: ["bundle install"],
      notes: [noPreset("Ruby gems")],
    };
  },
};

function minorOf(text: string): string | undefined {
  const version = shorten(firstVersion(text.trim()) ?? "", 2);
  return /^[3-9]\.\d+$/.test(version) ? version : undefined;
}
