/** The directory of cells: what is wrong is named with its field, and a broken change leaves the former. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../core/time.ts'
import { openDirectory, readDirectory } from './directory.ts'

const TWO = `first: c1
cells:
  c1: { addresses: ['http://10.0.0.1:8787'] }
  c2:
    console: https://C2.example.com/
    addresses: [{ url: 'http://10.0.0.2:8787', weight: 3 }, 'http://10.0.0.3:8787/']
`

test('it has cells, the gateways of each with their weights, and the first one', () => {
  const { cells, first } = readDirectory(TWO, 'cells.yaml')
  expect(first.name).toBe('c1')
  expect(cells.get('c2')).toEqual({
    name: 'c2',
    host: 'c2.example.com',
    console: 'https://c2.example.com',
    addresses: [
      { url: 'http://10.0.0.2:8787', weight: 3 },
      { url: 'http://10.0.0.3:8787', weight: 1 },
    ],
  })
})

test('what cannot be used is named, with what it must be', () => {
  const wrong = (text: string): string => {
    try {
      readDirectory(text, 'f')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const one = (cell: string) => `first: c1\ncells: { c1: ${cell} }`
  expect(wrong('first: c3\ncells: { c1: { addresses: ["http://a:1"] } }')).toBe('f: first: must be one of c1')
  expect(wrong('cells: { c1: { addresses: ["http://a:1"] } }')).toBe(
    'f: first: must name the cell of keys that carry no name',
  )
  expect(wrong(one('{ addresses: [] }'))).toBe('f: cells.c1.addresses: must list at least one address')
  expect(wrong(one('{}'))).toBe('f: cells.c1.addresses: must list the addresses of its gateways')
  for (const address of ['"ftp://a"', '"http://a:1/v1"', '"http://u:p@a"', '7'])
    expect(wrong(one(`{ addresses: [${address}] }`))).toStartWith(
      'f: cells.c1.addresses.0: must be an address such as http://10.0.0.1:8787',
    )
  expect(wrong(one('{ addresses: [{ url: "http://a", weight: -1 }] }'))).toBe(
    'f: cells.c1.addresses.0.weight: must be a whole number from 0 to 1000',
  )
  expect(wrong('first: At\ncells: { at: { addresses: ["http://a:1"] } }')).toContain('but not at')
  expect(wrong(`${one('{ addresses: ["http://a:1", "http://a:1"] }')}`)).toContain(
    'http://a:1 stands there twice',
  )
  expect(wrong(one('{ addresses: ["http://a:1"], adress: 1 }'))).toContain('adress')
  expect(wrong('first: [')).toContain('is not valid YAML')
  expect(wrong('')).toStartWith('f: the file:')
})

test('a change is taken, a broken one is told once and changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-cells-'))
  const path = join(folder, 'cells.yaml')
  writeFileSync(path, TWO)
  const told: string[] = []
  let tick = Promise.withResolvers<void>()
  const log = { info: () => told.push('read'), warn: (event: string) => told.push(event) }
  const directory = openDirectory(path, {
    clock: { ...systemClock, sleep: () => tick.promise },
    log: log as never,
  })
  const look = async () => {
    const { resolve } = tick
    tick = Promise.withResolvers()
    resolve()
    await Bun.sleep(0)
  }
  writeFileSync(path, 'first: c9')
  await look()
  await look()
  expect(told).toEqual(['the directory of cells cannot be used; the previous one stays'])
  expect([...directory.now().cells.keys()]).toEqual(['c1', 'c2'])
  rmSync(path)
  await look()
  expect(told).toHaveLength(2)
  writeFileSync(path, TWO.replaceAll('c2', 'c5'))
  await look()
  expect([...directory.now().cells.keys()]).toEqual(['c1', 'c5'])
  expect(told.at(-1)).toBe('read')
  directory.stop()
  rmSync(folder, { recursive: true })
})
