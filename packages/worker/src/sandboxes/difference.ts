/**
 * What a workspace differs in from its base, as a stream: a line with the base's name and two sizes; the folders that
 * stand in both layers; what of the base is deleted; and a tar of the rest. Lists are names that end with a NUL. All of
 * it is compressed.
 *
 * The packing command has the two layers beside the workspace, read-only. What changed is what stands in the upper
 * layer, but read from the workspace, where it is whole. What was deleted is what the base has in those folders and
 * the workspace has not, or has as another kind: a folder for a file, a file for a folder. So the marks by which an
 * overlay remembers deletions need not be understood.
 */
export const layerPlaces = { upper: "/.outrider/upper", lower: "/.outrider/lower" } as const;
/** Where scripts of ours find what they remember. */
export const keptPlace = "/.outrider/kept";

// /dev/shm is this command's own, and there even when the sandbox's disk is full.
export const packDifferenceScript = `
set -o pipefail
export LC_ALL=C TMPDIR=/dev/shm
upper=${layerPlaces.upper}/workspace lower=${layerPlaces.lower}/workspace lists=/dev/shm
cd $upper && find . -type d -print0 > $lists/folders 2> /dev/null
declare -A in_both
while IFS= read -r -d "" folder; do
  # Only below folders of the base: a link in its place could lead anywhere.
  [[ $folder == . || -n \${in_both["\${folder%/*}"]} ]] || continue
  [[ -d $lower/$folder && ! -L $lower/$folder ]] || continue
  # What cannot be looked into must not pass for empty.
  [[ -r /workspace/$folder && -x /workspace/$folder ]] || continue
  in_both["$folder"]=1
  printf "%s\\0" "$folder"
done < $lists/folders > $lists/both
names() {
  cd "$1" && xargs -0 -r -a $lists/both sh -c '
    find "$@" -mindepth 1 -maxdepth 1 "(" -type d -printf "d%p\\0" ")" -o -printf "f%p\\0" 2> /dev/null || :' sh |
    sort -z
}
comm -z -23 <(names $lower) <(names /workspace) | cut -z -b 2- > $lists/deleted
sizes=($(stat -c %s $lists/both $lists/deleted)) || exit
{
  printf "outrider-difference %s %s %s\\n" "$1" "\${sizes[@]}"
  cat $lists/both $lists/deleted
  (cd $upper && find . ! -type c -print0 2> /dev/null) |
    tar -C /workspace --format=pax --pax-option=delete=atime,delete=ctime --sparse --owner=0 --group=0 \\
      --numeric-owner --ignore-failed-read --no-recursion --null --verbatim-files-from -T - -cf -
  codes=("\${PIPESTATUS[@]}")
  ((codes[1] < 2))
} | gzip -1
`;

// Folders first: what is to be deleted or replaced may stand in one that its owner had closed. tar gives all of them
// the modes they should have when it is done.
export const unpackDifferenceScript = `
set -o pipefail
cd /workspace
gzip -dc | {
  IFS= read -r line && read -r kind base both deleted rest <<< "$line"
  if [[ $kind != outrider-difference ]]; then echo "it was not made over a base." >&2; exit 1; fi
  if [[ $base != "$1" ]]; then echo "it was made over the base $base, not over $1." >&2; exit 1; fi
  head -c "$both" | xargs -0 -r chmod u+rwx -- 2> /dev/null
  head -c "$deleted" | xargs -0 -r sh -c '
    rm -rf -- "$@" 2> /dev/null || { chmod -R u+rwX -- "$@" 2> /dev/null; rm -rf -- "$@"; }' sh || exit 1
  exec tar --no-same-owner --same-permissions -xf -
}
`;
