/** Every command of ours that a document quotes exists, with the words and options that it is quoted with. */
import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { commandsFor } from '../../src/cli/commands.ts'
import { readFile } from './sources.ts'

const root = resolve(import.meta.dir, '../..')
const program = new Command('turnpike').option('-V, --version')
for (const load of commandsFor([])) (await load())(program)

/** Documents, and the files to start from, whose comments quote commands. The change log tells of what was. */
const told = [
  'README.md',
  'CONTRIBUTING.md',
  'turnpike.example.yaml',
  ...(readdirSync(resolve(root, 'docs'), { recursive: true }) as string[])
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...(readdirSync(resolve(root, 'deploy'), { recursive: true }) as string[])
    .filter((name) => /\.(ya?ml|service|example)$|Containerfile$/.test(name))
    .map((name) => `deploy/${name}`),
]

const PROGRAM = /^(?:[^:]*\/)?turnpike(?:-linux-x64)?$/
/** Who runs what comes after them. */
const RUNS = new Set(['npx', 'sudo', '--', 'ExecStart=', 'env'])

/** The words behind our program in a line of a shell, once for each time that it is run there. */
const callsIn = (line: string): string[][] =>
  line.split(/&&|\|\||[;|>]|\s#/).flatMap((part) => {
    const words = (part.trim().match(/"[^"]*"|'[^']*'|\S+/g) ?? []).filter((word) => word !== '$')
    const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word))
    const run = (word: string, index: number): boolean =>
      PROGRAM.test(word) &&
      (word.includes('/') ||
        RUNS.has(words[index - 1] ?? '') ||
        (words[first] === 'docker' && words.slice(0, index).includes('run')))
    const at = PROGRAM.test(words[first] ?? '') ? first : words.findLastIndex(run)
    return at < 0 || at + 1 === words.length ? [] : [words.slice(at + 1)]
  })

/** What is wrong with a call, by the commands themselves. */
const wrongIn = (call: readonly string[]): string[] => {
  const words = call.map((word) => word.replace(/^["']|["'.,]+$/g, ''))
  let command = program
  while (words[0] !== undefined) {
    const next = command.commands.find(
      (one) => one.name() === words[0] || one.aliases().includes(words[0] ?? ''),
    )
    if (next === undefined) break
    command = next
    words.shift()
  }
  let places = command.registeredArguments.length
  if (command.registeredArguments.at(-1)?.variadic === true) places = Number.POSITIVE_INFINITY
  const wrong: string[] = []
  for (let at = 0; at < words.length; at++) {
    const [word = '', value] = (words[at] ?? '').split('=')
    if (!word.startsWith('-')) {
      if (word !== '…' && --places < 0) wrong.push(`${command.name()} takes no '${word}'`)
      continue
    }
    const option = command.options.find(({ long, short }) => word === long || word === short)
    if (option === undefined && word !== '--help') wrong.push(`${command.name()} has no ${word}`)
    if (option !== undefined && (option.required || option.optional) && value === undefined) at++
  }
  return wrong
}

/** The lines of a document that are commands: blocks and spans of Markdown; of other files each comment and value. */
const linesOf = (path: string): string[] => {
  const text = readFile(path).replaceAll(/\\\n\s*(?:# *)?/g, ' ')
  if (!path.endsWith('.md'))
    return text.split('\n').flatMap((line) => [line.replace(/^\s*#?\s*/, '').replace('ExecStart=', '')])
  const blocks = text.split('\n').filter((line) => !line.includes('`'))
  const spans = [...text.replaceAll(/\n(?=\S)/g, ' ').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  return [...blocks, ...spans].map((line) => line.replaceAll(/<[^>]*>/g, '…'))
}

/** Spans such as `wallet show`, in a text that has named the program. */
const shortIn = (line: string): string[][] => {
  const words = line.split(' ')
  const group = program.commands.find((one) => one.name() === words[0])
  return group?.commands.some((one) => one.name() === words[1]) === true ? [words] : []
}

test('every command that a document quotes', () => {
  const found = told.flatMap((path) =>
    linesOf(path).flatMap((line) => [...callsIn(line), ...shortIn(line)].map((call) => ({ path, call }))),
  )
  expect(found.length).toBeGreaterThan(100)
  expect(
    found.flatMap(({ path, call }) => wrongIn(call).map((what) => `${path}: ${call.join(' ')}: ${what}`)),
  ).toEqual([])
})

test('a command that does not exist is found, however it is run', () => {
  const wrong = (line: string) => callsIn(line).flatMap(wrongIn)
  expect(wrong('turnpike key create --wallet w --label x')).toEqual([])
  expect(wrong('bin/turnpike key make')).toEqual(["key takes no 'make'"])
  expect(wrong('npx turnpike serve --processes 4')).toEqual([
    'serve has no --processes',
    "serve takes no '4'",
  ])
  expect(wrong('DATABASE_URL=sqlite:x.db turnpike audit now')).toEqual(["audit takes no 'now'"])
  expect(wrong('kubectl --namespace turnpike exec turnpike-0 -- /usr/local/bin/turnpike keys')).toEqual([
    "turnpike takes no 'keys'",
  ])
  expect(wrong('docker run --rm turnpike audits && turnpike ready')).toEqual(["turnpike takes no 'audits'"])
  expect(wrong('kubectl --namespace turnpike create secret generic turnpike')).toEqual([])
})
