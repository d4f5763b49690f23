/** The payers of the matrix: official clients of payments per call, unchanged, each as it pays over HTTP and over MCP. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { McpClient } from 'mppx/mcp/client'
import { Proxy as PaidProxy, Service } from 'mppx/proxy'
import type { HDAccount } from 'viem/accounts'
import { type Installed, install, NotInstalled } from '../agents/install.ts'
import { clients } from '../products/mcp-clients.ts'
import { newToken } from './card-rig.ts'
import type { TestChain } from './chain.ts'
import { evmOf, payerBy, stripeOf } from './mpp-payer.ts'

const NETWORK = 'eip155:84532'

export const cells = ['chat', 'stream', 'media', 'job', 'MCP chat', 'MCP media', 'MCP job'] as const
export type Cell = (typeof cells)[number]

type ToolResult = { readonly isError?: boolean; readonly content: unknown; readonly structuredContent?: any }

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** One payer with its money: how it sends a request, and how it calls a tool. */
export type Opened = {
  readonly pay: Fetch
  call?(name: string, args: object): Promise<ToolResult>
}

export type Payer = {
  readonly name: string
  readonly package: string
  /** What it cannot do, and why. */
  readonly cannot: Partial<Record<Cell, string>>
  /** Whether it refuses by itself to pay a second time: its budget is for one call. */
  readonly once?: true
  /** The client's packages, if they are not this checkout's; undefined where they cannot be installed. */
  readonly installed?: () => Promise<Installed | undefined>
  /** Opens the client for an account with money, and the server's address. */
  open(it: {
    readonly chain: TestChain
    readonly account: HDAccount
    readonly address: string
    readonly installed: Installed | undefined
    readonly budget: bigint
  }): Promise<Opened> | Opened
}

const overHttp = (name: string): Partial<Record<Cell, string>> => {
  const why = `${name} pays over HTTP alone.`
  return { 'MCP chat': why, 'MCP media': why, 'MCP job': why }
}

/** The official client of version 2 over HTTP, and in the `_meta` of an official client of MCP. */
const opened = (client: x402Client, address: string): Opened => ({
  pay: wrapFetchWithPayment(fetch, client),
  call: async (name, args) => {
    const [[, , open] = []] = clients
    const mcp = await open?.(`${address}/mcp`)
    const due = await mcp?.call(name, { ...args })
    const payment = await client.createPaymentPayload(due?.structuredContent)
    const paid = await mcp?.call(name, { ...args }, { meta: { 'x402/payment': payment } })
    await mcp?.close()
    return paid as ToolResult
  },
})

/** Pays over HTTP by a method of MPP. */
const mpp =
  (method: object): Fetch =>
  (url, init) =>
    payerBy(method, fetch).pay(new Request(url, init))

/** The official client of MPP over HTTP, and around an official client of MCP. */
const openedMpp = (method: object, address: string): Opened => ({
  pay: mpp(method),
  call: async (name, args) => {
    const client = new Client({ name: 'payer', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`)))
    const paying = McpClient.wrap(client as never, { methods: [method] } as never)
    const paid = await paying.callTool({ name, arguments: { ...args } })
    await client.close()
    return paid as ToolResult
  },
})

const exact = (account: HDAccount): x402Client =>
  registerExactEvmScheme(new x402Client(), { signer: account, networks: [NETWORK] })

/** Pays by what its policy lets through: what is left of a budget. */
const budgeted = (account: HDAccount, budget: bigint): x402Client => {
  let left = budget
  return exact(account)
    .registerPolicy((_version, offers) => offers.filter(({ amount }) => BigInt(amount) <= left))
    .onAfterPaymentCreation(async ({ selectedRequirements }) => {
      left -= BigInt(selectedRequirements.amount)
    })
}

const x402Fetch = async (): Promise<Installed | undefined> =>
  install('x402-fetch').catch((error: unknown) => {
    if (!(error instanceof NotInstalled)) throw error
    process.stderr.write(`x402-fetch is left out: ${error.message}\n`)
    return undefined
  })

const uptoJob = 'A job takes no payment that is only authorised; the client is offered `exact`.'

export const payers: readonly Payer[] = [
  {
    name: '@x402/fetch, exact',
    package: '@x402/fetch',
    cannot: {},
    open: ({ account, address }) => opened(exact(account), address),
  },
  {
    name: '@x402/fetch, upto',
    package: '@x402/evm',
    cannot: { job: uptoJob, 'MCP job': uptoJob },
    open: ({ account, address }) =>
      opened(new x402Client().register(NETWORK, new UptoEvmScheme(account)), address),
  },
  {
    name: '@x402/evm, batch-settlement',
    package: '@x402/evm',
    cannot: {},
    open: ({ account, address, chain }) => {
      const signer = toClientEvmSigner(account, chain.client as never)
      return opened(new x402Client().register(NETWORK, new BatchSettlementEvmScheme(signer)), address)
    },
  },
  {
    name: '@x402/fetch with a budget',
    package: '@x402/fetch',
    cannot: {},
    once: true,
    open: ({ account, address, budget }) => opened(budgeted(account, budget), address),
  },
  {
    name: 'x402-fetch, version 1',
    package: 'x402-fetch',
    cannot: overHttp('x402-fetch'),
    installed: x402Fetch,
    open: async ({ account, installed }) => {
      const folder = installed?.modules.map((one) => `${one}/x402-fetch`).at(0)
      const { wrapFetchWithPayment: wrap } = await import(String(folder))
      return { pay: wrap(fetch, account) }
    },
  },
  {
    name: 'mppx, evm charge',
    package: 'mppx',
    cannot: {},
    open: ({ account, address }) => openedMpp(evmOf(account), address),
  },
  {
    name: 'mppx, stripe charge',
    package: 'mppx',
    cannot: {},
    open: ({ address }) => openedMpp(stripeOf(newToken), address),
  },
  {
    name: 'mppx/proxy that pays with mppx',
    package: 'mppx',
    cannot: overHttp('The proxy'),
    open: ({ account, address }) => {
      const proxy = PaidProxy.create({
        fetch: mpp(evmOf(account)) as typeof fetch,
        services: [
          Service.from('turnpike', {
            baseUrl: address,
            routes: { 'POST /v1/chat/completions': true, 'POST /v1/run': true },
          }),
        ],
      })
      return {
        pay: (url, init) =>
          proxy.fetch(new Request(url.replace(address, 'http://proxy.test/turnpike'), init)),
      }
    },
  },
]
