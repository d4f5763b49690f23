/** Runs a program as a user does: in its own home and folder, with the variables and files of its recipe. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Page } from './page.ts'

/** No program needs this long on any machine; it only keeps a run from waiting for ever. */
const LONGEST_MS = 5 * 60_000

export type Ended = { readonly code: number; readonly out: string; readonly errors: string }

export type Running = {
  readonly ended: Promise<Ended>
  /** Ends it and what it started, as closing its window does. */
  readonly hangUp: () => void
}

export type Desk = {
  /** Runs lines of a shell after the recipe's own. */
  readonly run: (lines: string, more?: Readonly<Record<string, string>>) => Running
  readonly remove: () => void
}

/**
 * A place to run in; `bins` are searched for programs first. A library's driver lies in it and finds the library in
 * `modules`, whose first folder is looked into last.
 */
export const openDesk = (page: Page, bins: readonly string[], modules?: readonly string[]): Desk => {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-desk-'))
  const folder = join(home, 'work')
  mkdirSync(folder)
  if (modules !== undefined) cpSync(join(import.meta.dir, 'drivers'), folder, { recursive: true })
  for (const [at, one] of (modules ?? []).entries())
    symlinkSync(one, join(at === 0 ? home : folder, 'node_modules'))
  for (const { path, text } of page.files) {
    const file = path.startsWith('~/') ? join(home, path.slice(2)) : join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text}\n`)
  }
  const environment = {
    HOME: home,
    PATH: [...bins, process.env.PATH ?? ''].join(':'),
    TERM: 'dumb',
    NO_COLOR: '1',
  }
  const prepared = page.variables
  return {
    run: (lines, more = {}) => {
      const child = Bun.spawn(['sh', '-c', `${prepared}\n${lines}`], {
        cwd: folder,
        env: { ...environment, ...more },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        detached: true,
      })
      const hangUp = () => {
        try {
          process.kill(-child.pid, 'SIGTERM')
        } catch {
          // It ended by itself.
        }
      }
      const late = setTimeout(hangUp, LONGEST_MS)
      const collect = async (): Promise<Ended> => {
        const [out, errors] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ])
        clearTimeout(late)
        return { code: await child.exited, out, errors }
      }
      return { ended: collect(), hangUp }
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}
