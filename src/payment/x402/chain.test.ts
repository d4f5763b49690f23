/** What the chain must show before it counts as an `upto` payment that no facilitator told of. */
import { expect, test } from 'bun:test'
import { x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import { encodeFunctionData } from 'viem'
import { chain } from './chain.ts'
import { TRANSFER, word } from './node.ts'

const addressOf = (digit: string) => `0x${digit.repeat(40)}` as const
const [ASSET, PAYER, PAY_TO, ELSE] = ['a', 'b', 'c', 'd'].map(addressOf) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
]
const UNITS = 60n
/** Also a number that the payer could take as the nonce of another payment. */
const DEADLINE = 1_900_000_000n
const NONCE = 5n

const settled = encodeFunctionData({
  abi: x402UptoPermit2ProxyABI,
  functionName: 'settle',
  args: [
    { permitted: { token: ASSET, amount: 1_000n }, nonce: NONCE, deadline: DEADLINE },
    UNITS,
    PAYER,
    { to: PAY_TO, facilitator: ELSE, validAfter: 0n },
    '0x00',
  ],
})
const withPermit = encodeFunctionData({
  abi: x402UptoPermit2ProxyABI,
  functionName: 'settleWithPermit',
  args: [
    { value: 9n, deadline: DEADLINE, r: `0x${word('7')}`, s: `0x${word('8')}`, v: 27 },
    { permitted: { token: ASSET, amount: 1_000n }, nonce: NONCE, deadline: DEADLINE },
    UNITS,
    PAYER,
    { to: PAY_TO, facilitator: ELSE, validAfter: 0n },
    '0x00',
  ],
})

test.each<[string, { to: string; input: string }, bigint, 'paid' | 'unknown']>([
  ['the payment itself', { to: x402UptoPermit2ProxyAddress, input: settled }, NONCE, 'paid'],
  ['with its approval', { to: x402UptoPermit2ProxyAddress, input: withPermit }, NONCE, 'paid'],
  [
    "one whose nonce is that payment's deadline",
    { to: x402UptoPermit2ProxyAddress, input: settled },
    DEADLINE,
    'unknown',
  ],
  [
    'one whose nonce stands behind that payment',
    { to: x402UptoPermit2ProxyAddress, input: `${settled}${word('9')}` },
    9n,
    'unknown',
  ],
  ["one in the payer's own transaction", { to: ELSE, input: settled }, NONCE, 'unknown'],
])('%s', async (_name, sent, nonce, state) => {
  const answers: Record<string, unknown> = {
    eth_getBlockByNumber: { number: '0x10', timestamp: '0x10' },
    // All nonces are used up.
    eth_call: `0x${'f'.repeat(64)}`,
    eth_getTransactionByHash: sent,
  }
  const transfer = {
    address: ASSET,
    topics: [TRANSFER, `0x${word(PAYER)}`, `0x${word(PAY_TO)}`],
    data: `0x${word(UNITS.toString(16))}`,
    transactionHash: '0x1',
  }
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { method, params } = (await request.json()) as { method: string; params: [{ topics?: string[] }] }
      const logs = params[0].topics?.[0] === TRANSFER ? [transfer] : []
      return Response.json({ result: method === 'eth_getLogs' ? logs : answers[method] })
    },
  })
  const offer = {
    network: 'eip155:1',
    asset: ASSET,
    name: 'USDC',
    version: '2',
    nanoPerUnit: 1_000n,
    payTo: PAY_TO,
    rpcUrl: `http://127.0.0.1:${node.port}`,
  }
  const sought = { offer, scheme: 'upto', payer: PAYER, nonce: String(nonce), units: String(UNITS) } as const
  expect((await chain.look(sought)).state).toBe(state)
  await node.stop(true)
})
