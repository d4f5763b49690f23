/** The x402 section of turnpike.yaml: read exactly, or refused by name. */

import { expect, test } from 'bun:test'
import { messageOf } from '../../../test/cli/bad-setting.ts'
import { parseConfigFile } from './config-file.ts'
import { x402OptionsOf } from './x402-config.ts'

const x402 = (lines: string) =>
  parseConfigFile(
    `x402:\n  facilitator: http://127.0.0.1:1/f/\n  pay_to: "0x${'1'.repeat(40)}"\n${lines}`,
    'x.yaml',
    {},
  ).x402

test.each([
  ['  accept: [base, base-spolia]', "'base-spolia' is not a known token (base, base-sepolia)"],
  ['  accept: []', 'Too small'],
  ['  accept: [{ network: "eip155:1" }]', 'x402.accept.0 needs network, asset, name, version and decimals'],
  ['  accept: [{ network: solana }]', 'x402.accept.0'],
  ['  accept: [base]\n  facilitater: x', "did you mean 'facilitator'?"],
  ['  accept: [base]\n  schemes: [upto]', 'x402.schemes must name exact'],
  ['  accept: [base]\n  schemes: [exact, upto]\n  upto_max_usd: "0"', 'x402.upto_max_usd must be'],
])('an x402 section is refused: %s', (lines, message) => {
  expect(
    messageOf(() => {
      const section = x402(lines)
      return section && x402OptionsOf(section)
    }),
  ).toContain(message)
})

test('an x402 section is read with its known and its own tokens', () => {
  const section = x402(
    `  accept: [base-sepolia, { network: "eip155:1", asset: "0x${'2'.repeat(40)}", name: T, version: "1", decimals: 3, pay_to: "0x${'3'.repeat(40)}" }]`,
  )
  expect(section && x402OptionsOf(section)).toMatchObject({
    facilitatorUrl: 'http://127.0.0.1:1/f',
    timeoutSeconds: 60,
    settleMs: 30_000,
    offers: [
      {
        network: 'eip155:84532',
        v1Network: 'base-sepolia',
        nanoPerUnit: 1_000n,
        payTo: `0x${'1'.repeat(40)}`,
      },
      { network: 'eip155:1', nanoPerUnit: 1_000_000n, payTo: `0x${'3'.repeat(40)}` },
    ],
  })
})

test('upto is off unless it is named, and bounded', () => {
  const upto = (lines: string) => {
    const section = x402(`  accept: [base]\n${lines}`)
    return section && x402OptionsOf(section).upto
  }
  expect(upto('')).toBeUndefined()
  expect(upto('  schemes: [exact]')).toBeUndefined()
  expect(upto('  schemes: [exact, upto]')).toEqual({ most: 1_000_000_000n })
  expect(upto('  schemes: [exact, upto]\n  upto_max_usd: "0.25"')).toEqual({ most: 250_000_000n })
})
