/**
 * The bundle of the pages. The runtime's own bundler makes it in a separate process if it is missing or older than its
 * sources; it is read into memory when a page is first requested.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { releasedFolder } from '../transport/own-program.ts'

type BundleFile = {
  readonly type: string
  readonly plain: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
}

export type Bundle = {
  readonly script: string
  readonly style: string
  /** What the first page needs beside the script. */
  readonly first: readonly string[]
  readonly files: ReadonlyMap<string, BundleFile>
}

const root = resolve(import.meta.dir, '../..')

const MANIFEST = 'manifest.json'
const manifest = z.object({ script: z.string(), style: z.string(), first: z.array(z.string()) })

const sourcesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? sourcesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
    )
    .sort()

/** What pages may be made of: they share rules of money, time and limits with the server. */
export const pageSources = (): readonly string[] => [
  ...sourcesBelow(join(root, 'src')).filter((path) => !path.endsWith('.test.ts')),
  join(root, 'package.json'),
]

/** A name for the state of the sources: from their names, sizes and times, and the versions of what they use. */
const stampOf = (): string => {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const path of pageSources()) {
    const { size, mtimeMs } = statSync(path)
    hasher.update(`${path} ${size} ${mtimeMs}\n`)
  }
  return hasher.digest('hex').slice(0, 16)
}

const folderOf = (stamp: string): string => join(root, 'dist', `console-${stamp}`)

/** Bundles in another process, so that the server is spared the bundler's memory and pauses. */
const make = async (folder: string): Promise<void> => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'web/build.ts'), folder], {
    cwd: root,
    stdout: 'ignore',
    stderr: 'pipe',
    stdin: 'ignore',
  })
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0)
    throw new Error(`the console's pages could not be bundled: ${said.slice(0, 2_000)}`)
}

const typeOf = (name: string): string =>
  name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'

/**
 * Where the pages are: as they came with a release, or built from the sources if they are missing or older than those.
 */
const folderNow = async (): Promise<string> => {
  const released = releasedFolder('console-pages')
  if (existsSync(join(released, MANIFEST))) return released
  const folder = folderOf(stampOf())
  if (!existsSync(join(folder, MANIFEST))) await make(folder)
  return folder
}

const load = async (): Promise<Bundle> => {
  const folder = await folderNow()
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.gz'))
    .map((name): [string, BundleFile] => {
      const zipped = new Uint8Array(readFileSync(join(folder, name)))
      const plain = new Uint8Array(gunzipSync(zipped))
      return [name.slice(0, -3), { type: typeOf(name.slice(0, -3)), plain, zipped }]
    })
  return {
    ...manifest.parse(JSON.parse(readFileSync(join(folder, MANIFEST), 'utf8'))),
    files: new Map(files),
  }
}

let loaded: Promise<Bundle> | undefined

/** The bundle, built if necessary. A failure is not cached: the next request tries again. */
export const bundleOf = (): Promise<Bundle> => {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}

/** Builds the bundle if it is missing, without keeping it in memory. */
export const prepareBundle = async (): Promise<void> => {
  await folderNow()
}
