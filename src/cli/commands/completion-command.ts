/**
 * `turnpike completion <shell>`: what a shell needs to complete commands and options, derived from the commands
 * themselves.
 */
import { Argument, type Command } from 'commander'
import { under } from '../run/run-command.ts'

type Word = { readonly word: string; readonly meaning: string }
/** What may follow a command's words. */
type Words = ReadonlyMap<string, readonly Word[]>

const shells = ['bash', 'zsh', 'fish'] as const

export const completionCommand = (program: Command): void => {
  under(program, 'completion', 'print the completion of a shell: eval "$(turnpike completion bash)"')
    .addArgument(new Argument('<shell>', 'whose').choices(shells))
    .action((shell: (typeof shells)[number]) => {
      process.stdout.write(scripts[shell](wordsOf(program)))
    })
}

const wordsOf = (program: Command): Words => {
  const found = new Map<string, readonly Word[]>()
  const open: { readonly at: string; readonly command: Command }[] = [{ at: '', command: program }]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { at, command } = next
    const below = command.commands.map((one) => ({ word: one.name(), meaning: one.description() }))
    const options = command.options.map(({ long, description }) => ({
      word: long ?? '',
      meaning: description,
    }))
    found.set(at, [...below, ...options, { word: '--help', meaning: 'what there is' }])
    for (const one of command.commands) open.push({ at: `${at} ${one.name()}`.trim(), command: one })
  }
  return found
}

const listOf = (words: readonly Word[]): string => words.map(({ word }) => word).join(' ')

/** Branches of a `case` over the words' possible states. */
const branches = (words: Words, line: (listed: readonly Word[]) => string): string =>
  [...words].map(([at, listed]) => `    "${at}") ${line(listed)} ;;`).join('\n')

/** The state after the words typed so far, as far as they are commands. */
const step = (words: Words): string => {
  const known = [...words.keys()].filter((at) => at !== '').map((at) => `"${at}"`)
  return `case "\${at:+$at }$word" in ${known.join(' | ')}) at="\${at:+$at }$word" ;; esac`
}

const bash = (words: Words): string => `_turnpike() {
  local at="" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    ${step(words)}
  done
  case "$at" in
${branches(words, (listed) => `words="${listOf(listed)}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _turnpike turnpike
`

const zsh = (words: Words): string => `#compdef turnpike
_turnpike() {
  local at="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${step(words)}
  done
  case "$at" in
${branches(words, (listed) => `compadd -- ${listOf(listed)}`)}
  esac
}
compdef _turnpike turnpike
`

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

const fish = (words: Words): string => `function __turnpike_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch (string trim "$at $word")
      case ${[...words.keys()]
        .filter((at) => at !== '')
        .map(quoted)
        .join(' ')}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
complete -c turnpike -f
${[...words]
  .flatMap(([at, listed]) =>
    listed.map(({ word, meaning }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${quoted(word)}`
      return `complete -c turnpike -n ${quoted(`__turnpike_at ${quoted(at)}`)} ${what} -d ${quoted(meaning)}`
    }),
  )
  .join('\n')}
`

const scripts = { bash, zsh, fish } satisfies Record<(typeof shells)[number], (words: Words) => string>
