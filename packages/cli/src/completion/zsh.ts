import { quoted } from "./quoted.ts";
import type { Completions } from "./table.ts";

/** Keys begin with the program, so that none is empty: zsh takes an empty one for a mistake. */
export function zshCompletion({ words, values }: Completions): string {
  const lists = Object.entries(words).map(([path, all]) => {
    const entries = all.map(({ word, description }) =>
      quoted(`${word.replaceAll(":", "\\:")}:${description}`),
    );
    return `  ${quoted(`outrider ${path}`.trim())} ${quoted(entries.join(" "))}`;
  });
  const choices = Object.entries(values).map(
    ([at, all]) => `  ${quoted(`outrider ${at}`)} ${quoted(all.join(" "))}`,
  );
  return `#compdef outrider
# Completion of outrider for zsh. Made by: outrider completion zsh
typeset -gA _outrider_words=(
${lists.join("\n")}
)
typeset -gA _outrider_values=(
${choices.join("\n")}
)

_outrider() {
  local at="outrider" word next
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    next="$at $word"
    (( \${+_outrider_words[$next]} )) && at="$next"
  done
  local key="$at \${words[CURRENT-1]}"
  if (( \${+_outrider_values[$key]} )); then
    if [[ -n "\${_outrider_values[$key]}" ]]; then
      compadd -- \${=_outrider_values[$key]}
    else
      _files
    fi
    return
  fi
  local -a entries
  eval "entries=(\${_outrider_words[$at]})"
  _describe outrider entries
}

compdef _outrider outrider
`;
}
