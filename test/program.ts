/** The program itself, as an operator starts it: with its own folder and only the given settings. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { atStart } from '../src/cli/compiled.ts'

const root = resolve(import.meta.dir, '..')

export type Settings = Readonly<Record<string, string>>

const running = new Set<Bun.Subprocess>()

/** Ends what a test file has left running: called at the end of each, even when its tests have failed. */
export const endPrograms = async (): Promise<void> => {
  for (const child of running) child.kill('SIGKILL')
  await Promise.all([...running].map(({ exited }) => exited))
}

/** The command that an operator types: that of this checkout, or of the one file which a whole run makes from it. */
export const ownProgram = process.env.TEST_PROGRAM ?? join(root, 'bin', 'turnpike')
const own: readonly string[] = [ownProgram]

type Started = { readonly errors?: 'pipe' | 'inherit'; readonly program?: readonly string[] }

const spawn = (
  home: string,
  settings: Settings,
  args: readonly string[],
  { errors = 'inherit', program = own }: Started,
) => {
  const child = Bun.spawn([...program, ...args], {
    cwd: home,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home,
      // The one file restarts itself once to set them; the tests of a release leave that to it.
      ...(program === own ? atStart : {}),
      DISCOVER: 'off',
      LOG: 'warn',
      PORT: '0',
      // A busy machine is no overload of the server.
      OVERLOAD_MS: '0',
      ...settings,
    },
    stdout: 'pipe',
    stderr: errors,
  })
  running.add(child)
  void child.exited.then(() => running.delete(child))
  return child
}

/** Runs one command of the product to its end. */
export const runProgram = (home: string, settings: Settings, ...args: string[]) =>
  runCommand(own, home, settings, ...args)

/** Begins one command of the product, which a test may end. */
export const beginProgram = (home: string, settings: Settings, ...args: string[]) =>
  spawn(home, settings, args, { errors: 'pipe' })

/** Runs one command of a program to its end. */
export const runCommand = async (
  program: readonly string[],
  home: string,
  settings: Settings,
  ...args: string[]
) => {
  const child = spawn(home, settings, args, { errors: 'pipe', program })
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr as ReadableStream).text(),
  ])
  return { code: await child.exited, out, errors }
}

/** Starts a server; it takes calls when this resolves. */
export const startProgram = async (
  home: string,
  settings: Settings,
  errors: 'pipe' | 'inherit' = 'inherit',
  program: readonly string[] = own,
) => {
  const child = spawn(home, settings, ['serve'], { errors, program })
  let greeting = ''
  for await (const piece of child.stdout) {
    greeting += new TextDecoder().decode(piece)
    if (greeting.includes('To turn on more')) break
  }
  const file = /what is shown only once.*: {2}(.+)/i.exec(greeting)?.[1]
  // A ledger that is new in the folder of others adds its part at the end.
  // A program in a root of its own names the file as it sees it.
  const once =
    file === undefined ? greeting : readFileSync(existsSync(file) ? file : join(home, file), 'utf8')
  const last = (pattern: RegExp): string => [...once.matchAll(pattern)].at(-1)?.[1] ?? ''
  return {
    child,
    greeting,
    address: /listens on (\S+)/.exec(greeting)?.[1] ?? '',
    /** The key that the first start shows. */
    token: last(/shown only now: {2}(\S+)/g),
    /** The link that signs its operator in. */
    link: last(/(https?:\S+\/console\/link#\S+)/g),
    /** Where both are, unless the greeting shows them. */
    file,
  }
}
