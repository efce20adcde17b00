import { posix } from "node:path";

/**
 * Defines the shell function `list folder` for read-only scripts. It prints the files below a folder, each followed by
 * a NUL, and omits git's own files and ignored files. Each name starts with the folder. Git is prevented from running
 * programs that a repository configures.
 */
export const listFilesScript = `
export LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0
unset CDPATH
git() { command git -c core.fsmonitor=false -c core.quotePath=false -c safe.directory='*' "$@"; }
shopt -u patsub_replacement 2> /dev/null
known() { git ls-files -z -co --exclude-standard; }
# Nested repositories: untracked ones and submodules.
nested() {
  known | grep -z "/$" | sed -z 's,/$,,'
  git ls-files -sz | grep -z "^160000 " | cut -z -f 2-
}
list() {
  local folder=$1 name repository names=() inner=() skipped=()
  if [[ $(cd "$folder" && git rev-parse --is-inside-work-tree 2> /dev/null) == true ]]; then
    mapfile -d "" -t inner < <(cd "$folder" && nested | sort -zu)
    mapfile -d "" -t names < <(cd "$folder" && comm -z -23 <(known | grep -zv "/$" | sort -zu) \\
      <({ git ls-files -zd; printf "%s\\0" "\${inner[@]}"; } | sort -zu))
    if ((\${#names[@]})); then printf "%s\\0" "\${names[@]/#/$folder/}"; fi
    for name in "\${inner[@]}"; do
      if [[ -e $folder/$name/.git ]]; then list "$folder/$name"; fi
    done
    return
  fi
  local repositories=()
  while IFS= read -r -d "" repository; do
    [[ $repository == "$folder" ]] || repositories+=("$repository")
  done < <(find -H "$folder" -name .git -printf "%h\\0" -prune 2> /dev/null)
  for repository in "\${repositories[@]}"; do
    name=\${repository//\\\\/\\\\\\\\} name=\${name//\\*/\\\\*} name=\${name//\\?/\\\\?} name=\${name//\\[/\\\\[}
    skipped+=(-path "$name" -prune -o)
  done
  find -H "$folder" "\${skipped[@]}" -name .git -prune -o -type f,l -print0 2> /dev/null
  for repository in "\${repositories[@]}"; do
    # A repository inside another was listed or ignored there.
    for name in "\${repositories[@]}"; do
      if [[ $repository == "$name"/* ]]; then continue 2; fi
    done
    list "$repository"
  done
}
`;

/** Normalizes a path so that no program mistakes it for an option. */
export function normalizePath(path: string): string {
  const normalized = posix.normalize(path).replace(/(.)\/$/, "$1");
  return normalized.startsWith("/") || normalized === "." ? normalized : `./${normalized}`;
}

/** Removes the `./` prefix that normalizePath adds. */
export function displayPath(path: string): string {
  return path.replace(/^\.\//, "");
}
