/**
 * This version and the one after it on one PostgreSQL, under load and with kill -9, as an upgrade and as the way back.
 * `npm run upgrade` plays the version before against this one, which needs the history.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresForTests } from '../postgres.ts'
import { endPrograms } from '../program.ts'
import { nextPackage, type Package, present } from './packages.ts'
import { roll } from './roll.ts'

const next = nextPackage()
const folders = [next.folder]
afterAll(async () => {
  await endPrograms()
  for (const folder of folders) rmSync(folder, { recursive: true })
})

const ways: readonly (readonly [string, Package, Package])[] = [
  ['an upgrade', present, next],
  ['the way back', next, present],
]

for (const [what, before, after] of ways)
  test(`${what}: both versions serve, one of each is killed, and the books are equal`, async () => {
    const database = await postgresForTests()
    const home = mkdtempSync(join(tmpdir(), 'turnpike-upgrade-'))
    folders.push(home)
    const rolled = await roll({ url: database.url, home, before, after, again: true })
    expect(rolled.broken).toEqual([])
    expect(rolled.cutOff).toBeGreaterThan(0)
    await database.stop()
  })
