/** Channels on a chain of our own, and payers who have one: the official client of `batch-settlement`, unchanged. */
import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { type Address, type Hex, parseAbi, parseEther } from 'viem'
import type { HDAccount } from 'viem/accounts'
import { compile, minedOn, type TestChain, TOKEN } from './chain.ts'
import { decoded } from './payers.ts'

const CHANNELS: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003'
const COLLECTOR: Address = '0x4020806089470a89826cB9fB1f4059150b550004'
export const WITHDRAW_SECONDS = 3_600

const config =
  '(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)'
const abi = parseAbi([
  'function channels(bytes32 id) view returns (uint128 balance, uint128 totalClaimed)',
  'function receivers(address receiver, address token) view returns (uint128 totalClaimed, uint128 totalSettled)',
  `function initiateWithdraw(${config} config, uint128 amount)`,
  `function finalizeWithdraw(${config} config)`,
])

/** Puts both contracts where every chain has them. */
export const installChannels = async (chain: TestChain): Promise<void> => {
  const { Channels, DepositCollector } = await compile('channels.sol')
  await chain.client.setCode({ address: CHANNELS, bytecode: `0x${Channels?.evm.deployedBytecode.object}` })
  await chain.client.setCode({
    address: COLLECTOR,
    bytecode: `0x${DepositCollector?.evm.deployedBytecode.object}`,
  })
}

type Send = (request: Request) => Promise<Response>

type Sent = { readonly request: Request; readonly payment: any }

/** A payer with so many units; `salt` tells its channels apart. */
export const payerOf = (
  chain: TestChain,
  account: HDAccount,
  send: Send,
  more: { readonly deposit?: number; readonly salt?: Hex } = {},
) => {
  const sent: Sent[] = []
  const signer = toClientEvmSigner(account, chain.client as never)
  const scheme = new BatchSettlementEvmScheme(signer, {
    depositPolicy: { depositMultiplier: more.deposit ?? 5 },
    ...(more.salt === undefined ? {} : { salt: more.salt }),
  })
  const client = new x402Client().register('eip155:84532', scheme)
  const spying = (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    const header = request.headers.get('payment-signature')
    if (header !== null) sent.push({ request: request.clone() as Request, payment: decoded(header) })
    return send(request)
  }
  const pay = wrapFetchWithPayment(spying as typeof fetch, client)
  return { account, sent, pay: (request: Request): Promise<Response> => pay(request) }
}

export const newPayer = async (chain: TestChain, send: Send, units = 1_000_000n, more = {}) => {
  const account = await chain.newPayer(units)
  await chain.client.setBalance({ address: account.address, value: parseEther('1') })
  return payerOf(chain, account, send, more)
}

export const channelAt = async (chain: TestChain, id: Hex) => {
  const [balance, claimed] = await chain.client.readContract({
    address: CHANNELS,
    abi,
    functionName: 'channels',
    args: [id],
  })
  return { balance, claimed }
}

/** What was claimed for a receiver, swept or not. */
export const claimedFor = async (chain: TestChain, receiver: Address): Promise<bigint> =>
  (
    await chain.client.readContract({
      address: CHANNELS,
      abi,
      functionName: 'receivers',
      args: [receiver, TOKEN],
    })
  )[0]

/** A payer announces that it leaves with so many units. */
export const announce = async (chain: TestChain, account: HDAccount, channel: any, units: bigint) =>
  minedOn(
    chain.client,
    await chain.client.writeContract({
      address: CHANNELS,
      abi,
      functionName: 'initiateWithdraw',
      args: [channel, units],
      account,
    }),
  )

/** Its time is over, and it leaves. */
export const leave = async (chain: TestChain, account: HDAccount, channel: any) => {
  await chain.client.increaseTime({ seconds: WITHDRAW_SECONDS + 1 })
  await chain.client.mine({ blocks: 1 })
  await minedOn(
    chain.client,
    await chain.client.writeContract({
      address: CHANNELS,
      abi,
      functionName: 'finalizeWithdraw',
      args: [channel],
      account,
    }),
  )
}

/** The ledger's name of the channel that a payer's client has signed for. */
export const nameOf = (sent: readonly Sent[]): string =>
  `eip155:84532:${sent[0]?.payment.payload.voucher.channelId}`
