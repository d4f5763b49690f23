/** A process of the pool that misbehaves on request: see src/transport/local-media/pool.test.ts. */
import { writeFileSync } from 'node:fs'
import type { Work } from '../../src/transport/local-media/work.ts'

new Worker(new URL('../../src/transport/local-media/guard.ts', import.meta.url).href, {
  argv: process.argv.slice(-1),
})

/** `(module (func (export "f") (loop br 0)))`: no thread can be brought out of it. */
const ENDLESS = Uint8Array.from([
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0],
  ...[10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11],
])

const takeMemory = () => {
  const taken: Uint8Array[] = []
  for (;;) taken.push(new Uint8Array(10_000_000).fill(1))
}

process.on('message', async ({ inputs }: Work) => {
  if (typeof inputs.file === 'string') writeFileSync(inputs.file, String(process.pid))
  if (inputs.how === 'memory') takeMemory()
  if (inputs.how === 'exit') process.exit(3)
  if (typeof inputs.waitMs === 'number') await Bun.sleep(inputs.waitMs)
  if (inputs.how === 'loop') {
    const { instance } = await WebAssembly.instantiate(ENDLESS)
    ;(instance.exports as { f: () => void }).f()
  }
  process.send?.({ made: { json: { pid: process.pid, env: Object.keys(process.env), cwd: process.cwd() } } })
})
process.on('disconnect', () => process.exit(0))
