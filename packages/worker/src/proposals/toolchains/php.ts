import { noPreset, type Toolchain } from "./toolchain.ts";

export const php: Toolchain = {
  name: "PHP",
  find(folder) {
    if (!folder.has("composer.lock")) return undefined;
    return {
      file: "composer.lock",
      image: "composer:2",
      imageReason: "`composer.lock` needs PHP and Composer",
      commands: ["composer install --no-interaction"],
      notes: [noPreset("Composer packages")],
    };
  },
};
