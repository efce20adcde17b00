import type { Toolchain } from "./toolchain.ts";

/** The first release with an image of this version of Debian. */
const OLDEST_MINOR = 71;

export const rust: Toolchain = {
  name: "Rust",
  preset: "crates",
  find(folder) {
    const file = ["Cargo.lock", "Cargo.toml"].find((name) => folder.has(name));
    if (!file || (file === "Cargo.toml" && folder.path !== "")) return undefined;
    const commands = [file === "Cargo.lock" ? "cargo fetch --locked" : "cargo fetch"];
    const names = ["rust-toolchain.toml", "rust-toolchain"];
    const toolchain = names.map((name) => folder.inheritedText(name).slice(0, 10_000)).find(Boolean) ?? "";
    const channel =
      /^[ \t]*channel[ \t]*=[ \t]*["']([\w.-]+)["']/m.exec(toolchain)?.[1] ??
      /^([\w.-]+)\s*$/.exec(toolchain.trim().slice(0, 100))?.[1];
    const version = /^1\.(\d{1,3})(?:\.\d{1,3})?$/.exec(channel ?? "");
    if (version && Number(version[1]) >= OLDEST_MINOR) {
      const image = `rust:${version[0]}-bookworm`;
      return { file, image, imageReason: `\`rust-toolchain\` names Rust ${version[0]}`, commands };
    }
    const imageReason = `\`${file}\` needs Rust`;
    const notes =
      channel && channel !== "stable"
        ? [
            `\`rust-toolchain\` names the channel ${channel}, which the image does not contain: rustup downloads it, so add its host to the allowed hosts.`,
          ]
        : [];
    return { file, image: "rust:1-bookworm", imageReason, commands, notes };
  },
};
