/** Copies of the product that a run changes, with the packages of this checkout beside them. */
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dir, '..')

/** A folder with the packages of this checkout, for a product beside it. */
export const folderWithPackages = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `turnpike-${name}-`))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** A copy of this checkout's product in a folder of its own, which the caller removes. */
export const copyProduct = (name: string): string => {
  const folder = folderWithPackages(name)
  for (const part of ['src', 'packages', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  return folder
}

/** Replaces a text that must occur once in a file. */
export const replaceOnce = (path: string, from: string, to: string): void => {
  const pieces = readFileSync(path, 'utf8').split(from)
  if (pieces.length !== 2) throw new Error(`the text to replace occurs ${pieces.length - 1} times in ${path}`)
  writeFileSync(path, pieces.join(to))
}
