/** Bundles the console's pages into a given folder; runs in a process of its own. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const folder = process.argv[2] ?? ''
const made = await Bun.build({
  entrypoints: [join(import.meta.dir, 'main.tsx')],
  target: 'browser',
  format: 'esm',
  splitting: true,
  minify: true,
  define: { 'process.env.NODE_ENV': '"production"' },
  naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
})
// Written beside its place and moved there whole, so that nobody reads half a bundle. If two processes bundle, the
// second leaves the first's result.
const half = `${folder}-${process.pid}`
mkdirSync(half, { recursive: true })
let [script, style] = ['', '']
const texts = new Map<string, string>()
for (const output of made.outputs) {
  const name = basename(output.path)
  const text = await output.text()
  texts.set(name, text)
  writeFileSync(join(half, `${name}.gz`), gzipSync(text, { level: 9 }))
  if (output.kind === 'entry-point') script = name
  if (name.endsWith('.css')) style = name
}
// What the entry imports is requested early, together with it.
const first = [...(texts.get(script) ?? '').matchAll(/from"\.\/([\w-]+\.js)"/g)].map(([, name]) => name ?? '')
writeFileSync(join(half, 'manifest.json'), JSON.stringify({ script, style, first }))
try {
  renameSync(half, folder)
} catch {
  rmSync(half, { recursive: true, force: true })
}
