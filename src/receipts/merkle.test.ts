/** The tree of the log against the definition of RFC 9162 in its plainest form, for every size, leaf and pair of sizes. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  consistencyRanges,
  EMPTY_ROOT,
  edgeOf,
  grown,
  type Hash,
  inclusionRanges,
  leafHash,
  provesConsistency,
  provesInclusion,
  rootsOf,
  tileName,
  tilesOf,
} from './merkle.ts'

const sha256 = (...parts: Uint8Array[]) =>
  new Bun.CryptoHasher('sha256').update(Buffer.concat(parts)).digest() as Uint8Array

/** MTH of RFC 9162, word for word. */
const plainRoot = (leaves: readonly Hash[]): Hash => {
  const [first] = leaves
  if (first === undefined) return sha256()
  if (leaves.length === 1) return first
  let k = 1
  while (k * 2 < leaves.length) k *= 2
  return sha256(Uint8Array.of(1), plainRoot(leaves.slice(0, k)), plainRoot(leaves.slice(k)))
}

const leaves = Array.from({ length: 1_400 }, (_one, at) => leafHash(`entry ${at}`))

/** Grows a tree by those steps, and keeps its tiles and the root of each size that it had. */
const grow = (steps: readonly number[]) => {
  const tiles = new Map<string, Uint8Array>()
  const roots = new Map([[0, EMPTY_ROOT]])
  let size = 0
  for (const step of steps) {
    const edge = new Map(
      edgeOf(size).map((id) => [tileName(id), tiles.get(tileName(id)) ?? new Uint8Array()]),
    )
    const after = grown(size, edge, leaves.slice(size, size + step))
    for (const { hashes, ...id } of after.tiles) tiles.set(tileName(id), hashes)
    size = after.size
    roots.set(size, after.root)
  }
  return { tiles, roots, size }
}

const steps = fc
  .array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 200, max: 300 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((list) => list.map((one) => Math.min(one, 300)))

test('however it grew, its roots, and each proof, are those of the definition', () => {
  fc.assert(
    fc.property(steps, fc.nat(), fc.nat(), (list, some, other) => {
      const { tiles, roots, size } = grow(list)
      for (const [at, root] of roots) expect(root.toHex()).toBe(plainRoot(leaves.slice(0, at)).toHex())
      const sizes = [...roots.keys()].filter((one) => one > 0)
      const within = sizes[some % sizes.length] ?? size
      const index = other % within
      const ranges = inclusionRanges(index, within)
      const proof = rootsOf(ranges, only(tiles, tilesOf(ranges)))
      const root = roots.get(within) ?? EMPTY_ROOT
      const leaf = leaves[index] ?? EMPTY_ROOT
      expect(provesInclusion(leaf, { index, size: within, root }, proof)).toBe(true)
      for (const wrong of [index + 1, index ^ 1, size + 1])
        expect(provesInclusion(leaf, { index: wrong, size: within, root }, proof)).toBe(false)
      expect(provesInclusion(leafHash('another'), { index, size: within, root }, proof)).toBe(false)
      expect(provesInclusion(leaf, { index, size: within, root }, proof.slice(1))).toBe(proof.length === 0)
      // Any size in between has a proof too, not only those that were signed.
      const first = 1 + (some % size)
      const between = consistencyRanges(first, size)
      const steady = rootsOf(between, only(tiles, tilesOf(between)))
      const one = { size: first, root: plainRoot(leaves.slice(0, first)) }
      const two = { size, root: roots.get(size) ?? EMPTY_ROOT }
      expect(provesConsistency(one, two, steady)).toBe(true)
      const forked = { size: first, root: plainRoot([...leaves.slice(0, first - 1), leafHash('forked')]) }
      expect(provesConsistency(forked, two, steady)).toBe(false)
      expect(provesConsistency({ ...one, size: first + 1 }, two, steady)).toBe(false)
      expect(provesConsistency(two, { ...one, size: size - 1 }, steady)).toBe(false)
    }),
    { numRuns: 60 },
  )
})

const only = (tiles: ReadonlyMap<string, Uint8Array>, ids: readonly { level: number; n: number }[]) =>
  new Map(ids.map((id) => [tileName(id), tiles.get(tileName(id)) ?? new Uint8Array()]))

test('the hashes are those of the examples of RFC 6962 as Certificate Transparency publishes them', () => {
  expect(EMPTY_ROOT.toHex()).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(leafHash('').toHex()).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
})
