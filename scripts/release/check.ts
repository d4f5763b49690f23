/**
 * `npm run release -- --check`: makes the release of this commit twice, from two copies of it in different folders, and compares
 * each file. With `--against <SHA256SUMS>` also with a release that somebody else made.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './run.ts'

type Sums = ReadonlyMap<string, string>

export const readSums = (text: string): Sums =>
  new Map([...text.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)].map(([, sum = '', name = '']) => [name, sum]))

/** Names of files that both have, with other bytes; and if both must have all, of those that one lacks. */
export const differing = (one: Sums, other: Sums, all: boolean): readonly string[] =>
  [...new Set([...one.keys(), ...other.keys()])].filter((name) => {
    const [a, b] = [one.get(name), other.get(name)]
    return a !== b && (all || (a !== undefined && b !== undefined))
  })

const copyAndMake = async (root: string, folder: string, targets: string): Promise<Sums> => {
  const copy = join(folder, 'source')
  await run(['git', 'clone', '--quiet', '--no-hardlinks', root, copy], root)
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const out = join(folder, 'out')
  const script = join(copy, 'scripts', 'release.ts')
  await run([process.execPath, script, '--dirty', '--targets', targets, '--out', out], copy)
  return readSums(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))
}

/** Throws with the names of files that differ. */
export const checkTwice = async (
  root: string,
  targets: string,
  against: string | undefined,
): Promise<Sums> => {
  const folders = ['turnpike-', 'another-folder-for-turnpike-'].map((name) =>
    mkdtempSync(join(tmpdir(), name)),
  )
  try {
    const [one = new Map(), two = new Map()] = [
      await copyAndMake(root, folders[0] ?? '', targets),
      await copyAndMake(root, folders[1] ?? '', targets),
    ]
    const differ = differing(one, two, true)
    if (differ.length > 0) throw new Error(`two builds differ in ${differ.join(', ')}`)
    const theirs = against === undefined ? one : readSums(readFileSync(against, 'utf8'))
    const others = differing(one, theirs, false)
    if (others.length > 0) throw new Error(`${against} has other bytes of ${others.join(', ')}`)
    return one
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}
