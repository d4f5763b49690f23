/**
 * The bundle of the pages: made by the runtime's own bundler in a process of its own when it is missing or older than its
 * sources, and read into memory when a page is first asked for.
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
const web = join(import.meta.dir, 'web')

const MANIFEST = 'manifest.json'
const manifest = z.object({ script: z.string(), style: z.string(), first: z.array(z.string()) })

const sourcesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? sourcesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
    )
    .sort()

/** Names the state of the sources: by their names, sizes and times, and the versions of what they use. */
const stampOf = (): string => {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const path of [
    ...sourcesBelow(web),
    ...sourcesBelow(join(import.meta.dir, 'schema')),
    join(root, 'package.json'),
  ]) {
    const { size, mtimeMs } = statSync(path)
    hasher.update(`${path} ${size} ${mtimeMs}\n`)
  }
  return hasher.digest('hex').slice(0, 16)
}

const folderOf = (stamp: string): string => join(root, 'dist', `console-${stamp}`)

/** Bundles in another process, so that the server keeps neither the bundler's memory nor its pauses. */
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

/** Where the pages are: as they came with a release, else made from the sources when they are missing or older than those. */
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

/** The bundle, made if need be. A failure is not kept: the next one who asks tries again. */
export const bundleOf = (): Promise<Bundle> => {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined
    throw error
  })
  return loaded
}

/** Makes the bundle if it is missing, and keeps nothing of it. */
export const prepareBundle = async (): Promise<void> => {
  await folderNow()
}
