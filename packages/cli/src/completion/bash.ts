import { quoted } from "./quoted.ts";
import type { Completions } from "./table.ts";

/** Walks along the words as the parser does: names of commands lead down, everything else stays where it is. */
export function bashCompletion({ words, values }: Completions): string {
  const lists = Object.entries(words).map(
    ([path, all]) => `    ${quoted(path)}) echo ${quoted(all.map(({ word }) => word).join(" "))} ;;`,
  );
  const choices = Object.entries(values).map(
    ([at, all]) => `    ${quoted(at)}) echo ${quoted(all.join(" "))} ;;`,
  );
  return `# Completion of outrider for bash. Made by: outrider completion bash
_outrider_words() {
  case "$1" in
${lists.join("\n")}
    *) return 1 ;;
  esac
}

_outrider_values() {
  case "$1" in
${choices.join("\n")}
    *) return 1 ;;
  esac
}

_outrider() {
  local path="" word next i
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="\${path:+$path }$word"
    _outrider_words "$next" >/dev/null && path="$next"
  done
  COMPREPLY=()
  local values
  if values="$(_outrider_values "\${path:+$path }$previous")"; then
    if [[ -n "$values" ]]; then
      COMPREPLY=($(compgen -W "$values" -- "$current"))
    else
      compopt -o default 2>/dev/null
    fi
    return
  fi
  COMPREPLY=($(compgen -W "$(_outrider_words "$path")" -- "$current"))
}

complete -F _outrider outrider
`;
}
