/** The compiled file and bin/turnpike give the runtime the same environment. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { atStart } from './compiled.ts'

test('the sources start with the same environment as the compiled file', () => {
  const script = readFileSync(join(import.meta.dir, '../../bin/turnpike'), 'utf8')
  const exported = [...script.matchAll(/^export ([A-Z_]+)="\$\{\1:-(.*)\}"$/gm)].map(([, name, value]) => [
    name,
    value,
  ])
  expect(Object.fromEntries(exported)).toEqual(atStart)
})
