/** A chain of our own with a dollar token on it, under the numbers of a public test net, because clients know both. */
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type Address,
  createTestClient,
  type Hex,
  http,
  parseAbi,
  parseSignature,
  publicActions,
  toHex,
  WaitForTransactionReceiptTimeoutError,
  walletActions,
} from 'viem'
import { type HDAccount, mnemonicToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'

export const TOKEN: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const BATCH_READER: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
const MNEMONIC = 'test test test test test test test test test test test junk'

export const tokenAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

const require = createRequire(import.meta.url)

/** The node's program, where its package is installed. */
const anvilPath = (): string | undefined => {
  try {
    const path = join(dirname(require.resolve('@foundry-rs/anvil-linux-amd64/package.json')), 'bin', 'anvil')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

export const hasChain = anvilPath() !== undefined

type Compiled = Record<string, { evm: { deployedBytecode: { object: string } } }>

/** The contracts of a file beside this one, by name. Compiled once on a machine: that takes seconds of processor. */
export const compile = async (file: string): Promise<Compiled> => {
  const content = await Bun.file(join(import.meta.dir, file)).text()
  const { version } = require('solc/package.json')
  const name = new Bun.CryptoHasher('sha256').update(`${version} ${content}`).digest('hex').slice(0, 12)
  const kept = join(tmpdir(), `turnpike-contracts-${name}.json`)
  if (existsSync(kept)) return Bun.file(kept).json()
  const compiled = compiledBySolc(file, content)
  // Others may read it at the same time.
  const making = `${kept}.${process.pid}`
  writeFileSync(making, JSON.stringify(compiled))
  renameSync(making, kept)
  return compiled
}

const compiledBySolc = (file: string, content: string): Compiled => {
  const solc = require('solc')
  const input = {
    language: 'Solidity',
    sources: { [file]: { content } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      outputSelection: { '*': { '*': ['evm.deployedBytecode.object'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  const error = (output.errors ?? []).find((one: { severity: string }) => one.severity === 'error')
  if (error !== undefined) throw new Error(error.formattedMessage)
  return output.contracts[file]
}

export type TestChain = {
  readonly url: string
  readonly client: ReturnType<typeof clientOf>
  /** Accounts that can pay for gas; 0 is the facilitator's. */
  account(index: number): HDAccount
  /** A payer nobody has used before, with this many units of the token. */
  newPayer(units: bigint): Promise<HDAccount>
  unitsOf(owner: Address): Promise<bigint>
  /** Uses up an authorization without a payment. */
  cancel(payer: HDAccount, nonce: Hex): Promise<void>
  stop(): Promise<void>
}

const clientOf = (url: string) =>
  createTestClient({
    mode: 'anvil',
    chain: baseSepolia,
    transport: http(url),
    pollingInterval: 20,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)

export const accountOf = (index: number): HDAccount => mnemonicToAccount(MNEMONIC, { addressIndex: index })

export const keyOf = (account: HDAccount): Hex => toHex(account.getHdKey().privateKey ?? new Uint8Array())

let payers = 100

const MINED_WITHIN_MS = 5_000

/**
 * Resolves when a transaction is in a block. A busy node may leave one waiting that came beside another; then we ask it
 * for a block.
 */
export const minedOn = async (client: TestChain['client'], hash: Hex): Promise<void> => {
  for (;;)
    try {
      await client.waitForTransactionReceipt({ hash, timeout: MINED_WITHIN_MS })
      return
    } catch (error) {
      if (!(error instanceof WaitForTransactionReceiptTimeoutError)) throw error
      await client.mine({ blocks: 1 })
    }
}

/** A node on a free port. */
export const startNode = async (
  more: readonly string[],
): Promise<{ url: string; stop: () => Promise<void> }> => {
  const node = Bun.spawn([anvilPath() ?? '', '--host', '127.0.0.1', '--port', '0', ...more], {
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const url = `http://${await listening(node.stdout)}`
  return {
    url,
    stop: async () => {
      node.kill()
      await node.exited
    },
  }
}

export const startChain = async (): Promise<TestChain> => {
  const compiled = compile('token.sol')
  const { url, stop } = await startNode(['--chain-id', '84532'])
  const client = clientOf(url)
  const { DollarToken, BatchReader } = await compiled
  await client.setCode({ address: TOKEN, bytecode: `0x${DollarToken?.evm.deployedBytecode.object}` })
  await client.setCode({ address: BATCH_READER, bytecode: `0x${BatchReader?.evm.deployedBytecode.object}` })
  const mined = (hash: Hex) => minedOn(client, hash)
  return {
    url,
    client,
    account: accountOf,
    newPayer: async (units) => {
      const payer = accountOf(payers++)
      if (units > 0n)
        await mined(
          await client.writeContract({
            address: TOKEN,
            abi: tokenAbi,
            functionName: 'mint',
            args: [payer.address, units],
            account: accountOf(9),
          }),
        )
      return payer
    },
    unitsOf: (owner) =>
      client.readContract({ address: TOKEN, abi: tokenAbi, functionName: 'balanceOf', args: [owner] }),
    cancel: async (payer, nonce) => {
      const signature = await payer.signTypedData({
        domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: TOKEN },
        types: {
          CancelAuthorization: [
            { name: 'authorizer', type: 'address' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'CancelAuthorization',
        message: { authorizer: payer.address, nonce },
      })
      const { r, s, yParity } = parseSignature(signature)
      await mined(
        await client.writeContract({
          address: TOKEN,
          abi: tokenAbi,
          functionName: 'cancelAuthorization',
          args: [payer.address, nonce, 27 + yParity, r, s],
          account: accountOf(8),
        }),
      )
    },
    stop,
  }
}

/** Reads the node's output until it names its address, and goes on reading so that the node never has to wait. */
const listening = async (stdout: ReadableStream<Uint8Array>): Promise<string> => {
  const reader = stdout.getReader()
  const decoder = new TextDecoder()
  let said = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the chain did not start: ${said}`)
    said += decoder.decode(value)
    const address = /Listening on (\S+)/.exec(said)?.[1]
    if (address === undefined) continue
    void (async () => {
      while (!(await reader.read()).done);
    })()
    return address
  }
}
