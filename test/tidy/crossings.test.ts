/**
 * A call's way through the code gets no longer: the files that it enters and how often it changes from one to another may
 * only fall. Who shortens it writes the new figures here.
 */
import { expect, test } from 'bun:test'
import { root } from './sources.ts'

/** Beside some of the measured calls the server does work of its own, which may add this many switches. */
const OTHER_WORK = 3

const bounds = {
  plain: { files: 78, switches: 299 },
  translated: { files: 94, switches: 397 },
} as const

test('a call crosses no more files than it did', () => {
  const { stdout, stderr } = Bun.spawnSync(['bun', 'scripts/crossings.ts'], { cwd: root })
  const rows = [...stdout.toString().matchAll(/a (plain|translated) call: [^|]*\| (\d+), (\d+), \d+ \|/g)]
  expect([rows.length, stderr.toString()]).toEqual([2, ''])
  for (const [, name, files, switches] of rows) {
    const bound = bounds[name as keyof typeof bounds]
    expect({ name, fits: Number(files) <= bound.files, files }).toEqual({ name, fits: true, files })
    expect({ name, fits: Number(switches) <= bound.switches + OTHER_WORK, switches }).toEqual({
      name,
      fits: true,
      switches,
    })
  }
})
