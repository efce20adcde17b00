import type { Completions } from "./table.ts";

export function fishCompletion({ words, values }: Completions): string {
  const paths = Object.keys(words).filter(Boolean);
  const lines = Object.entries(words).flatMap(([path, all]) =>
    all.map(({ word, description }) => entry(`__outrider_at ${quoted(path)}`, word, description)),
  );
  const choices = Object.entries(values).flatMap(([at, all]) =>
    all.map((value) => entry(`__outrider_behind ${quoted(at)}`, value, "")),
  );
  const free = Object.keys(values).filter((at) => values[at]?.length === 0);
  return `# Completion of outrider for fish. Made by: outrider completion fish
set -g __outrider_paths ${paths.map(quoted).join(" ")}
set -g __outrider_valued ${Object.keys(values).map(quoted).join(" ")}
set -g __outrider_free ${free.map(quoted).join(" ")}

function __outrider_path
    set -l path ""
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$path $word")
        contains -- $next $__outrider_paths; and set path $next
    end
    echo $path
end

function __outrider_last
    string trim -- (__outrider_path)" "(commandline -opc)[-1]
end

function __outrider_at
    contains -- (__outrider_last) $__outrider_valued; and return 1
    set -l here (__outrider_path)
    test "$here" = "$argv[1]"
end

function __outrider_behind
    set -l here (__outrider_last)
    test "$here" = "$argv[1]"
end

function __outrider_is_free
    contains -- (__outrider_last) $__outrider_free
end

complete -c outrider -f
complete -c outrider -n __outrider_is_free -F
${[...lines, ...choices].join("\n")}
`;
}

function entry(condition: string, word: string, description: string): string {
  return `complete -c outrider -n ${quoted(condition)} -a ${quoted(word)} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
