import type { Folder } from "../repository-files.ts";
import { firstVersion, selectVersion, shorten, toolVersion } from "../versions.ts";
import { findVersion, type Project, type Toolchain } from "./toolchain.ts";

/** The supported releases, the preferred one first. */
const releases = ["3.13", "3.12", "3.11", "3.10", "3.9", "3.8", "3.14"] as const;

export const python: Toolchain = {
  name: "Python",
  preset: "pypi",
  find(folder) {
    const project = findProject(folder);
    if (!project) return undefined;
    const found = pythonVersion(folder);
    const version = found?.version ?? releases[0];
    const imageReason = found
      ? `${found.source} names Python ${version}`
      : `\`${project.file}\` needs Python, and no file names its version`;
    return { ...project, image: `python:${version}-bookworm`, imageReason };
  },
};

function findProject(folder: Folder): Pick<Project, "file" | "commands" | "notes"> | undefined {
  if (folder.has("uv.lock")) return { file: "uv.lock", commands: ["pip install uv", "uv sync --frozen"] };
  if (folder.has("poetry.lock"))
    return { file: "poetry.lock", commands: ["pip install poetry", "poetry install --no-interaction"] };
  if (folder.has("Pipfile.lock"))
    return { file: "Pipfile.lock", commands: ["pip install pipenv", "pipenv sync --dev"] };
  if (folder.has("requirements.txt"))
    return { file: "requirements.txt", commands: ["pip install -r requirements.txt"] };
  const isPackage = /^\[(?:project|build-system)\]/m.test(folder.text("pyproject.toml"));
  if (!isPackage || folder.path !== "") return undefined;
  const notes = ["The repository has no lock file for Python, so builds can install different versions."];
  return { file: "pyproject.toml", commands: ["pip install -e ."], notes };
}

function pythonVersion(folder: Folder) {
  const project = folder.text("pyproject.toml").slice(0, 100_000);
  const required = /^requires-python\s*=\s*["']([^"'\n]+)["']/m.exec(project)?.[1];
  const poetry = /^python\s*=\s*["']([^"'\n]+)["']/m.exec(project)?.[1];
  const pipfile = /^python_(?:full_)?version\s*=\s*["']([^"'\n]+)["']/m.exec(folder.text("Pipfile"))?.[1];
  const range = required ?? poetry;
  return findVersion(
    ["`.python-version`", minorOf(folder.inheritedText(".python-version"))],
    ["`.tool-versions`", minorOf(toolVersion(folder, "python") ?? "")],
    ["`runtime.txt`", minorOf(folder.text("runtime.txt"))],
    ["`Pipfile`", minorOf(pipfile ?? "")],
    ["`pyproject.toml`", range === undefined ? undefined : selectVersion(range, releases)],
  );
}

function minorOf(text: string): string | undefined {
  const version = shorten(firstVersion(text.trim()) ?? "", 2);
  return /^3\.\d+$/.test(version) && Number(version.slice(2)) >= 8 ? version : undefined;
}
