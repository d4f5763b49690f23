/** The program itself, as an operator starts it: with its own folder and only the settings that are given. */
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dir, '..')

export type Settings = Readonly<Record<string, string>>

const spawn = (home: string, settings: Settings, args: readonly string[], errors: 'pipe' | 'inherit') =>
  Bun.spawn([join(root, 'bin', 'turnpike'), ...args], {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', HOME: home, DISCOVER: 'off', LOG: 'warn', PORT: '0', ...settings },
    stdout: 'pipe',
    stderr: errors,
  })

/** Runs one command to its end. */
export const runProgram = async (home: string, settings: Settings, ...args: string[]) => {
  const child = spawn(home, settings, args, 'pipe')
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr as ReadableStream).text(),
  ])
  return { code: await child.exited, out, errors }
}

/** Starts a server, which takes calls when this resolves. */
export const startProgram = async (
  home: string,
  settings: Settings,
  errors: 'pipe' | 'inherit' = 'inherit',
) => {
  const child = spawn(home, settings, ['serve'], errors)
  let greeting = ''
  for await (const piece of child.stdout) {
    greeting += new TextDecoder().decode(piece)
    if (greeting.includes('To turn on more')) break
  }
  return {
    child,
    greeting,
    address: /listens on (\S+)/.exec(greeting)?.[1] ?? '',
    /** The key that the first start shows. */
    token: /shown only now: {2}(\S+)/.exec(greeting)?.[1] ?? '',
  }
}
