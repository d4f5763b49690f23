/**
 * The tree of hashes over the log of receipts, as RFC 9162 (2.1) defines it: a leaf is SHA-256 of 0x00 and its entry, a node
 * SHA-256 of 0x01 and the two below. What is stored are tiles: the first has 256 hashes of leaves, and 256 whole tiles have one
 * of their roots above them. Every proof follows from a few tiles.
 */

/** How many hashes a whole tile has. */
export const TILE = 256
const TILE_HEIGHT = 8
export const HASH_BYTES = 32

export type Hash = Uint8Array

/** The tile `n` of a level; level 0 has the hashes of leaves. */
export type TileId = { readonly level: number; readonly n: number }
/** The hashes of tiles that are needed, one after the other, by `tileName`. */
export type Tiles = ReadonlyMap<string, Uint8Array>

/** Leaves from one on, up to another, which is not among them. */
type Range = { readonly from: number; readonly to: number }

export const tileName = ({ level, n }: TileId): string => `${level}/${n}`

const sha256 = (...parts: readonly Uint8Array[]): Hash => {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest()
}

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)
const utf8 = new TextEncoder()

export const leafHash = (entry: string): Hash => sha256(LEAF, utf8.encode(entry))
const nodeHash = (left: Hash, right: Hash): Hash => sha256(NODE, left, right)

/** The root of no leaves. */
export const EMPTY_ROOT: Hash = sha256()

/** The largest power of two that is smaller than the number. */
const splitOf = (count: number): number => {
  let split = 1
  while (split * 2 < count) split *= 2
  return split
}

/** Whether it is the leaves of one whole node: then the numbers are powers of two, and multiples of them. */
const isWhole = ({ from, to }: Range): boolean => splitOf(to - from) * 2 === to - from || to - from === 1

/** The two parts whose roots make that of a range. */
const halvesOf = ({ from, to }: Range): readonly [Range, Range] => {
  const middle = from + splitOf(to - from)
  return [
    { from, to: middle },
    { from: middle, to },
  ]
}

/** The ranges whose roots prove that a leaf is in the tree of that size, from the leaf upwards. */
export const inclusionRanges = (index: number, size: number): readonly Range[] => {
  const found: Range[] = []
  let range: Range = { from: 0, to: size }
  while (range.to - range.from > 1) {
    const [left, right] = halvesOf(range)
    const goesLeft = index < left.to
    found.unshift(goesLeft ? right : left)
    range = goesLeft ? left : right
  }
  return found
}

/** The ranges whose roots prove that the tree of the first size is the beginning of the other. */
export const consistencyRanges = (first: number, second: number): readonly Range[] => {
  if (first === 0 || first === second) return []
  const found: Range[] = []
  let range: Range = { from: 0, to: second }
  while (range.to !== first) {
    const [left, right] = halvesOf(range)
    const goesLeft = first <= left.to
    found.unshift(goesLeft ? right : left)
    range = goesLeft ? left : right
  }
  // The verifier knows the first tree's own root.
  return range.from === 0 ? found : [range, ...found]
}

/** The whole nodes that make a range. */
const wholesOf = (range: Range): readonly Range[] =>
  isWhole(range) ? [range] : halvesOf(range).flatMap(wholesOf)

/** The tile with the node of a whole range, and which of its hashes make the node. */
const placeOf = ({ from, to }: Range) => {
  const level = Math.floor(Math.log2(to - from) / TILE_HEIGHT)
  const width = TILE ** level
  const first = from / width
  const n = Math.floor(first / TILE)
  return { level, n, at: first - n * TILE, count: (to - from) / width }
}

/** The tiles that the roots of these ranges are made of. */
export const tilesOf = (ranges: readonly Range[]): readonly TileId[] => {
  const places = ranges.flatMap(wholesOf).map(placeOf)
  return [...new Map(places.map(({ level, n }) => [tileName({ level, n }), { level, n }])).values()]
}

const hashAt = (hashes: Uint8Array, at: number): Hash =>
  hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)

/** The root of hashes that are one after the other. */
const rootOfHashes = (hashes: Uint8Array, from: number, to: number): Hash => {
  if (to - from === 1) return hashAt(hashes, from)
  const middle = from + splitOf(to - from)
  return nodeHash(rootOfHashes(hashes, from, middle), rootOfHashes(hashes, middle, to))
}

const rootOf = (range: Range, tiles: Tiles): Hash => {
  if (!isWhole(range)) {
    const [left, right] = halvesOf(range)
    return nodeHash(rootOf(left, tiles), rootOf(right, tiles))
  }
  const { at, count, ...id } = placeOf(range)
  const hashes = tiles.get(tileName(id))
  if (hashes === undefined || hashes.length < (at + count) * HASH_BYTES)
    throw new Error(`the log lacks hashes of its tile ${tileName(id)}`)
  return rootOfHashes(hashes, at, at + count)
}

/** The roots of ranges, in their order: a proof. */
export const rootsOf = (ranges: readonly Range[], tiles: Tiles): readonly Hash[] =>
  ranges.map((range) => rootOf(range, tiles))

/** The tiles that leaves at the end of a tree change: the last one of each level, unless all are whole. */
export const edgeOf = (size: number): readonly TileId[] => {
  const edge: TileId[] = []
  for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE))
    if (count % TILE > 0) edge.push({ level, n: Math.floor(count / TILE) })
  return edge
}

/** What leaves at the end change: the tiles that are new or longer, and the new root. `edge`: those of `edgeOf`. */
export const grown = (size: number, edge: Tiles, leaves: readonly Hash[]) => {
  const open = new Map<number, { n: number; hashes: Hash[] }>()
  for (const { level, n } of edgeOf(size)) {
    const held = edge.get(tileName({ level, n })) ?? new Uint8Array()
    const hashes = Array.from({ length: held.length / HASH_BYTES }, (_one, at) => hashAt(held, at))
    open.set(level, { n, hashes })
  }
  const changed = new Map<string, TileId & { readonly hashes: Uint8Array }>()
  const note = (level: number, n: number, hashes: readonly Hash[]): Uint8Array => {
    const whole = Buffer.concat(hashes)
    changed.set(tileName({ level, n }), { level, n, hashes: whole })
    return whole
  }
  const add = (level: number, hash: Hash, before: number): void => {
    const tile = open.get(level) ?? { n: Math.floor(before / TILE), hashes: [] }
    tile.hashes.push(hash)
    open.set(level, tile)
    if (tile.hashes.length < TILE) return
    open.delete(level)
    const whole = note(level, tile.n, tile.hashes)
    add(level + 1, rootOfHashes(whole, 0, TILE), Math.floor(before / TILE))
  }
  for (const [at, leaf] of leaves.entries()) add(0, leaf, size + at)
  const touched = new Map(edge)
  for (const [level, { n, hashes }] of open) note(level, n, hashes)
  for (const [name, { hashes }] of changed) touched.set(name, hashes)
  const end = size + leaves.length
  const root = end === 0 ? EMPTY_ROOT : edgeRoot(end, touched)
  return { size: end, root, tiles: [...changed.values()] }
}

/** The root of a tree from the tiles at its edge alone: the hashes of each level's last tile, from the left. */
const edgeRoot = (size: number, tiles: Tiles): Hash => {
  const pieces: Hash[] = []
  for (const { level, n } of [...edgeOf(size)].reverse()) {
    const hashes = tiles.get(tileName({ level, n })) ?? new Uint8Array()
    let from = 0
    for (let left = Math.floor(size / TILE ** level) % TILE; left > 0; ) {
      const whole = splitOf(left + 1)
      pieces.push(rootOfHashes(hashes, from, from + whole))
      from += whole
      left -= whole
    }
  }
  return pieces.reduceRight((right, left) => nodeHash(left, right))
}

const same = (one: Hash, other: Hash): boolean => Buffer.compare(one, other) === 0

/** Whether the proof leads from the leaf to the root of a tree of that size. Source: RFC 9162, 2.1.3.2. */
export const provesInclusion = (
  leaf: Hash,
  { index, size, root }: { readonly index: number; readonly size: number; readonly root: Hash },
  proof: readonly Hash[],
): boolean => {
  if (index >= size) return false
  let [node, last, hash] = [index, size - 1, leaf]
  for (const part of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(part, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else hash = nodeHash(hash, part)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 && same(hash, root)
}

type End = { readonly size: number; readonly root: Hash }

/** Whether the proof shows that the tree of `one` is the beginning of the tree of `two`. Source: RFC 9162, 2.1.4.2. */
export const provesConsistency = (one: End, two: End, proof: readonly Hash[]): boolean => {
  if (one.size > two.size) return false
  if (one.size === two.size) return proof.length === 0 && same(one.root, two.root)
  if (one.size === 0) return proof.length === 0
  const whole = Number.isInteger(Math.log2(one.size))
  const [first, ...rest] = whole ? [one.root, ...proof] : proof
  if (first === undefined) return false
  let [node, last] = [one.size - 1, two.size - 1]
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  let [old, now] = [first, first]
  for (const part of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      ;[old, now] = [nodeHash(part, old), nodeHash(part, now)]
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else now = nodeHash(now, part)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0 && same(old, one.root) && same(now, two.root)
}
