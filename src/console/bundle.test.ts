/** Pages are bundled anew whenever something that they are made of has changed. */
import { expect, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { pageSources } from './bundle.ts'

test('all sources of the pages are looked at', async () => {
  const root = resolve(import.meta.dir, '../..')
  const { metafile } = await Bun.build({
    entrypoints: [join(import.meta.dir, 'web/main.tsx')],
    root,
    target: 'browser',
    splitting: true,
    metafile: true,
  })
  const looked = new Set(pageSources())
  const used = Object.keys(metafile?.inputs ?? {})
    .map((path) => resolve(root, path))
    .filter((path) => path.startsWith(join(root, 'src')))
  expect(used).toContain(join(root, 'src/core/time.ts'))
  expect(used.filter((path) => !looked.has(path))).toEqual([])
})
