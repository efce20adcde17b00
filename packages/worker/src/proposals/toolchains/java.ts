import type { Folder } from "../repository-files.ts";
import { toolVersion } from "../versions.ts";
import type { Project, Toolchain } from "./toolchain.ts";

/** The releases with long-term support, for which there are images. */
const releases = ["8", "11", "17", "21", "25"] as const;
const DEFAULT_RELEASE = "21";

export const java: Toolchain = {
  name: "Java",
  preset: "maven",
  coversFolders: true,
  find: (folder) => maven(folder) ?? gradle(folder),
};

function maven(folder: Folder): Project | undefined {
  if (!folder.has("pom.xml")) return undefined;
  const named =
    /<(?:maven\.compiler\.(?:release|target)|java\.version|release)>\s*(?:1\.)?(\d{1,2})\s*</.exec(
      folder.text("pom.xml"),
    )?.[1];
  const release = releaseFor(named);
  return {
    file: "pom.xml",
    image: `maven:3-eclipse-temurin-${release}`,
    imageReason: named
      ? `\`pom.xml\` names Java ${named}`
      : "`pom.xml` needs Maven and a JDK, and does not name the JDK's version",
    commands: ["mvn --batch-mode dependency:go-offline"],
  };
}

function gradle(folder: Folder): Project | undefined {
  const files = ["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"];
  const file = files.find((name) => folder.has(name));
  if (!file) return undefined;
  const wrapper = folder.text("gradle/wrapper/gradle-wrapper.properties");
  const version = /gradle-(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)-/.exec(wrapper)?.[1];
  const release = releaseFor(toolVersion(folder, "java")?.split(".")[0]);
  return {
    file,
    image: `gradle:${version ?? "8"}-jdk${release}`,
    imageReason: version
      ? `the Gradle wrapper names Gradle ${version}`
      : `\`${file}\` needs Gradle and a JDK, and no file names their versions`,
    commands: ["gradle --no-daemon dependencies"],
    notes: [
      "The command uses the image's `gradle`. The wrapper `gradlew` and Gradle's plugins are downloaded from hosts that no preset covers: add them to the allowed hosts if the build needs them.",
    ],
  };
}

/** Returns the oldest release with long-term support that can compile for a version. */
function releaseFor(version: string | undefined): string {
  if (version === undefined) return DEFAULT_RELEASE;
  return releases.find((release) => Number(release) >= Number(version)) ?? (releases.at(-1) as string);
}
