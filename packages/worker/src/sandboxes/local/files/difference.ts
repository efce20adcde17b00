/**
 * The format of a snapshot that contains only the difference between a workspace and its base. The stream is
 * gzip-compressed and consists of:
 *
 *     outrider-difference BASE SIZE1 SIZE2\n
 *     SIZE1 bytes: the folders that exist in both layers, each name followed by a NUL
 *     SIZE2 bytes: the deleted paths of the base, each name followed by a NUL
 *     a tar archive of the new and changed files
 *
 * Two bash scripts produce and apply it inside the sandbox. The pack script sees the overlay's upper and lower layers
 * as read-only mounts next to the workspace.
 *
 * - Changed files are those in the upper layer. Their content is read from the workspace, which has the merged view.
 * - Deleted paths are found in folders that exist in both layers: entries that are in the base but not in the
 *   workspace, or that have another type there (a folder instead of a file, or the reverse). The scripts therefore
 *   never interpret the whiteout files with which an overlay records deletions.
 * - A snapshot can be applied only over the base that it names.
 */
export const layerPaths = { upper: "/.outrider/upper", lower: "/.outrider/lower" } as const;
/** The mount point of the script state folder inside the sandbox. */
export const scriptStatePath = "/.outrider/state";

// /dev/shm is private to the worker's scripts and available even if the sandbox's disk is full. The folder of a script that
// was killed is removed by the next one.
export const packDifferenceScript = `
set -o pipefail
for lists in /dev/shm/lists-*; do [[ -d /proc/\${lists##*-} ]] || rm -rf "$lists"; done
upper=${layerPaths.upper}/workspace lower=${layerPaths.lower}/workspace lists=/dev/shm/lists-$$
mkdir -p $lists && trap 'rm -rf $lists' EXIT
export LC_ALL=C TMPDIR=$lists
cd $upper && find . -type d -print0 > $lists/folders 2> /dev/null
declare -A in_both
while IFS= read -r -d "" folder; do
  # Only below folders of the base: a symlink in place of a folder could lead anywhere.
  [[ $folder == . || -n \${in_both["\${folder%/*}"]} ]] || continue
  [[ -d $lower/$folder && ! -L $lower/$folder ]] || continue
  # A folder that cannot be read must not be treated as empty.
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

// Folders come first, because a path to delete or replace may be in a folder that its owner cannot write to. At the
// end, tar restores every folder's mode.
export const unpackDifferenceScript = `
set -o pipefail
cd /workspace
gzip -dc | {
  IFS= read -r line && read -r kind base both deleted rest <<< "$line"
  if [[ $kind != outrider-difference ]]; then echo "the snapshot was not created over a base." >&2; exit 1; fi
  if [[ $base != "$1" ]]; then echo "the snapshot was created over the base $base, not over $1." >&2; exit 1; fi
  head -c "$both" | xargs -0 -r chmod u+rwx -- 2> /dev/null
  head -c "$deleted" | xargs -0 -r sh -c '
    rm -rf -- "$@" 2> /dev/null || { chmod -R u+rwX -- "$@" 2> /dev/null; rm -rf -- "$@"; }' sh || exit 1
  exec tar --no-same-owner --same-permissions -xf -
}
`;
