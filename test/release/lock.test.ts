/** The check of the lock file: what no digest pins is found, and a registry that does not answer is no finding. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { judged, unpinned } from '../../scripts/lock.ts'

const ours = readFileSync(resolve(import.meta.dir, '../../package-lock.json'), 'utf8')

test('each dependency is pinned by its digest; one that is not is named', () => {
  expect(unpinned(ours)).toEqual([])
  const { packages, ...lock } = JSON.parse(ours)
  const weak = { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }
  const edited = {
    ...lock,
    packages: { ...packages, 'node_modules/weak': weak, 'node_modules/bare': { version: '1' } },
  }
  expect(unpinned(JSON.stringify(edited))).toEqual(['node_modules/weak', 'node_modules/bare'])
})

test('faults and signatures that do not hold are findings; an error of the network is none', () => {
  expect(judged(0, 'found 0 vulnerabilities')).toBe('sound')
  expect(judged(1, 'npm error audit endpoint returned an error')).toBe('no answer')
  expect(judged(1, 'npm error code ENOTFOUND')).toBe('no answer')
  for (const said of [
    '3 high severity vulnerabilities',
    '1 package has an invalid registry signature:',
    '2 vulnerabilities (1 high)',
  ])
    expect([said, typeof judged(1, said)]).toEqual([said, 'object'])
})
