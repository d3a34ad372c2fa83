// A script for each shell, made from the same places.

/** A command, and what may be typed after it. */
export interface Place {
  /** Its words, such as `resources list`; empty for kit itself. */
  at: string;
  commands: readonly Named[];
  /** `values`: null if it takes none; empty if it takes any. */
  options: readonly (Named & { values: readonly string[] | null })[];
  args: readonly { values: readonly string[]; isFile: boolean }[];
}
interface Named {
  name: string;
  about: string;
}

export const SHELLS = { bash, zsh, fish } satisfies Record<string, (places: readonly Place[]) => string>;

function bash(places: readonly Place[]): string {
  const names = (all: readonly { name: string }[]) => quoted(all.map(({ name }) => name).join(" "));
  const ofPlace = ({ at, commands, options }: Place) =>
    `${quoted(at)}) ${commands.length > 0 ? `words=${names(commands)} ` : ""}options=${names(options)}`;
  return `${head("bash", "~/.bashrc", "source <(kit completion bash)")}
_kit() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at= taken= words= options= files= word i n=0
  [[ $cur == "=" ]] && cur=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $word == "=" ]] && continue
    ${walk(places)}
  done
  ${closed(places)}
  if [[ -z $taken ]]; then
    case "$at" in
      ${cases(places.map(ofPlace))}
    esac
    [[ $cur == -* || -z $words$files ]] && words=$options files=
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -F _kit kit`;
}

function zsh(places: readonly Place[]): string {
  const described = (all: readonly { name: string; about: string }[]) =>
    `(${all.map(({ name, about }) => quoted(`${name}:${about}`)).join(" ")})`;
  return `#compdef kit
${head("zsh", "~/.zshrc, after compinit", "source <(kit completion zsh)")}
_kit() {
  local at= taken= words_= files= word
  local -i i n=0
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    ${walk(places)}
  done
  if [[ -z $taken && $PREFIX == --*=* ]]; then
    taken=\${PREFIX%%=*}
    compset -P '*='
  fi
  ${closed(places).replaceAll("words=", "words_=")}
  if [[ -n $taken || ( -n $words_ && $PREFIX != -* ) ]]; then
    compadd -- \${=words_}
    return
  fi
  case "$at" in
    ${cases(places.map(({ at, commands, options }) => `${quoted(at)}) commands=${described(commands)}; options=${described(options)}`))}
  esac
  if [[ -n $files && $PREFIX != -* ]]; then
    _files
  elif [[ $PREFIX == -* || \${#commands} -eq 0 ]]; then
    _describe -o option options
  else
    _describe command commands
  fi
}
if [[ \${funcstack[1]} == _kit ]]; then _kit "$@"; else compdef _kit kit; fi`;
}

function fish(places: readonly Place[]): string {
  const list = (words: readonly string[]) => (words.length > 0 ? ` -a ${quoted(words.join(" "))}` : "");
  const lines = places.flatMap(({ at, commands, options, args }) => {
    const rules = [
      ...commands.map(({ name, about }) => `-a ${name} -d ${quoted(about)}`),
      ...options.map(
        ({ name, about, values }) =>
          `-l ${name.slice(2)}${values ? ` -x${list(values)}` : ""} -d ${quoted(about)}`,
      ),
      ...args.flatMap(({ values, isFile }) => (isFile ? "-F" : list(values).trim() || [])),
    ];
    return rules.map((rule) => `complete -c kit -n ${quoted(`__kit_is_at '${at}'`)} ${rule}`);
  });
  return `${head("fish", "~/.config/fish/config.fish", "kit completion fish | source")}
function __kit_is_at
  set -l at ''
  set -l taken ''
  for word in (commandline -opc)[2..-1]
    if test -n "$taken"
      set taken ''
      continue
    end
    switch "$at:$word"
      case ${commandsOf(places).join(" ")}
        set at (string trim "$at $word")
      case ${valuedOf(places).join(" ")}
        set taken $word
    end
  end
  test "$at" = "$argv[1]"
end
complete -c kit -f
${lines.join("\n")}`;
}

const head = (shell: string, file: string, load: string) =>
  `# Completion of kit for ${shell}, printed by kit completion ${shell}. In ${file}:
#   ${load}`;

/**
 * The body of the loop over the words before the cursor. `at` is the command so far, `taken` the option that waits for its
 * value, `n` how many arguments there are.
 */
const walk = (places: readonly Place[]) => `if [[ -n $taken ]]; then taken=; continue; fi
    case "$at:$word" in
      ${commandsOf(places).join("|")}) at="\${at:+$at }$word" n=0 ;;
      ${valuedOf(places).join("|")}) taken=$word ;;
      *:-*) ;;
      *) n=$((n + 1)) ;;
    esac`;

/** Sets `words` to the values that may follow, and `files` if files may. */
function closed(places: readonly Place[]): string {
  const values = places.flatMap(({ at, options }) =>
    options.flatMap(({ name, values: of }) =>
      of?.length ? [`${quoted(`${at}:${name}`)}) words=${quoted(of.join(" "))}`] : [],
    ),
  );
  const args = places.flatMap(({ at, args: all }) =>
    all.flatMap(({ values: of, isFile }, nth) =>
      isFile || of.length > 0
        ? [`${quoted(`${at}:${nth}`)}) ${isFile ? "files=1" : `words=${quoted(of.join(" "))}`}`]
        : [],
    ),
  );
  return `case "$at:\${taken:-$n}" in
    ${cases([...values, ...args])}
  esac`;
}

/** The words that lead from a command to one of its own. */
const commandsOf = (places: readonly Place[]) =>
  places.flatMap(({ at, commands }) => commands.map(({ name }) => quoted(`${at}:${name}`)));

/** The options that take a value. */
const valuedOf = (places: readonly Place[]) =>
  places.flatMap(({ at, options }) =>
    options.flatMap(({ name, values }) => (values === null ? [] : [quoted(`${at}:${name}`)])),
  );

const cases = (lines: readonly string[]) => lines.map((line) => `${line} ;;`).join("\n    ");
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
