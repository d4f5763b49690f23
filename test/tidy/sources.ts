/** The repository's files as the tidy rules see them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dir, '../..')

export type Source = {
  readonly path: string
  readonly text: string
  /** The text with comments and the insides of strings blanked. */
  readonly code: string
}

const skipped = new Set(['node_modules', '.git', 'data', '.tmp', 'dist'])

export const filesBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return []
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? filesBelow(path) : [path]
  })

export const readFile = (path: string): string => readFileSync(join(root, path), 'utf8')

export const sourceOf = (path: string, text: string): Source => ({ path, text, code: blanked(text) })

export const sources = (): Source[] =>
  ['src', 'packages', 'test', 'bench', 'scripts']
    .flatMap(filesBelow)
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .map((path) => sourceOf(path, readFile(path)))

/** Blanks comments and string contents, keeping line breaks, so that rules look at code only. */
export const blanked = (text: string): string => {
  const blank = (piece: string) => piece.replace(/[^\n]/g, ' ')
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, (piece) =>
    piece.startsWith('/') ? blank(piece) : piece[0] + blank(piece.slice(1, -1)) + piece[0],
  )
}
