/** Keccak-256 as chains use it: the padding of the original submission, which SHA-3 changed. Source: the Keccak reference. */

const LANES = 25
const RATE = 136
const MASK = (1n << 64n) - 1n

/** The constants of the 24 rounds, from the reference's shift register. */
const roundConstants: readonly bigint[] = (() => {
  let register = 1
  const next = (): boolean => {
    const bit = (register & 1) === 1
    register = (register << 1) ^ ((register >> 7) * 0x171)
    return bit
  }
  return Array.from({ length: 24 }, () => {
    let constant = 0n
    for (let at = 0n; at < 7n; at++) if (next()) constant ^= 1n << ((1n << at) - 1n)
    return constant
  })
})()

const rotated = (lane: bigint, by: bigint): bigint => ((lane << by) | (lane >> (64n - by))) & MASK

const at = (lanes: readonly bigint[], index: number): bigint => lanes[index % LANES] ?? 0n

/** One round: theta, rho and pi, chi, iota. */
const round = (lanes: readonly bigint[], constant: bigint): bigint[] => {
  const parity = [0, 1, 2, 3, 4].map((x) => [0, 5, 10, 15, 20].reduce((sum, y) => sum ^ at(lanes, x + y), 0n))
  const mixed = lanes.map((lane, index) => {
    const x = index % 5
    return lane ^ at(parity, (x + 4) % 5) ^ rotated(at(parity, (x + 1) % 5), 1n)
  })
  const moved = [...mixed]
  let [x, y, shift] = [1, 0, 0n]
  for (let step = 1n; step <= 24n; step++) {
    shift = (shift + step) & 63n
    const [toX, toY] = [y, (2 * x + 3 * y) % 5]
    moved[toX + 5 * toY] = rotated(at(mixed, x + 5 * y), shift)
    ;[x, y] = [toX, toY]
  }
  const chosen = moved.map((lane, index) => {
    const row = index - (index % 5)
    const [one, two] = [at(moved, row + ((index + 1) % 5)), at(moved, row + ((index + 2) % 5))]
    return lane ^ (~one & MASK & two)
  })
  chosen[0] = at(chosen, 0) ^ constant
  return chosen
}

/** The hash in hex, with its 0x. */
export const keccak256 = (text: string): string => {
  const bytes = Buffer.from(text)
  const padded = Buffer.alloc(Math.floor(bytes.length / RATE) * RATE + RATE)
  bytes.copy(padded)
  padded[bytes.length] = 1
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80
  let lanes = Array.from({ length: LANES }, () => 0n)
  for (let from = 0; from < padded.length; from += RATE) {
    for (let lane = 0; lane < RATE / 8; lane++)
      lanes[lane] = at(lanes, lane) ^ padded.readBigUInt64LE(from + lane * 8)
    lanes = roundConstants.reduce(round, lanes)
  }
  const out = Buffer.alloc(32)
  for (let lane = 0; lane < 4; lane++) out.writeBigUInt64LE(at(lanes, lane), lane * 8)
  return `0x${out.toString('hex')}`
}
