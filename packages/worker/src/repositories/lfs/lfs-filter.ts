/**
 * A script that replaces the filters of git-lfs inside a sandbox, where that program may not be installed. It stores
 * objects where git-lfs does, so that both can be used on the same clone.
 *
 * - `smudge` reads a pointer and prints the content. If it is not available, it prints the pointer.
 * - `clean` reads content, stores it as an object and prints its pointer.
 *
 * Input that is a pointer for `clean`, or no pointer for `smudge`, is printed as it is. So is a file that was committed
 * without Git LFS, as long as it is unchanged: otherwise it would appear as modified from the start.
 * GIT_OBJECT_DIRECTORY is set while a run's diff is made, which must not change the repository.
 */
export const lfsFilter = `set -eu
lfs=$(git rev-parse --git-common-dir)/lfs
mkdir -p "$lfs/tmp"
input=$lfs/tmp/$$
trap 'rm -f "$input" "$input".*' EXIT
cat > "$input"
head -c 1024 "$input" > "$input.head"
version= oid= size=
{ IFS= read -r version && IFS= read -r oid && IFS= read -r size; } < "$input.head" 2> /dev/null || true
is_pointer=no
case "$version|$oid|$size" in
  "version https://git-lfs.github.com/spec/v1|oid sha256:"*"|size "[0-9]*) is_pointer=yes ;;
esac
object_path() {
  rest=\${1#??}
  printf '%s' "$2/\${1%"$rest"}/\${rest%"\${rest#??}"}/$1"
}
store() {
  mkdir -p "\${2%/*}"
  mv -f "$1" "$2"
}
case $1-$is_pointer in
  smudge-yes)
    oid=\${oid#oid sha256:}
    object=$(object_path "$oid" "$lfs/objects")
    if [ -f "$object" ]; then cat "$object"; else cat "$input"; fi ;;
  clean-no)
    if [ "$(git hash-object --no-filters "$input")" = "$(git rev-parse -q --verify ":0:$2")" ]; then cat "$input"
    elif [ -s "$input" ]; then
      oid=$(sha256sum < "$input")
      oid=\${oid%% *}
      size=$(wc -c < "$input")
      if [ -z "\${GIT_OBJECT_DIRECTORY-}" ]; then store "$input" "$(object_path "$oid" "$lfs/objects")"; fi
      printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %d\\n' "$oid" "$size"
    fi ;;
  *) cat "$input" ;;
esac
`;
