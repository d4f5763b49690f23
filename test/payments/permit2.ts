/** Permit2 on a chain of our own: the real code, as a node has it built in for another network, and the proxy of `upto`. */
import { type Address, createPublicClient, type Hex, http, parseAbi, parseEther } from 'viem'
import type { HDAccount } from 'viem/accounts'
import { compile, minedOn, startNode, type TestChain, TOKEN } from './chain.ts'

const PERMIT2: Address = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const PROXY: Address = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'

const abi = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)',
])

/** Puts both contracts where every chain has them. */
export const installPermit2 = async (chain: TestChain): Promise<void> => {
  const donor = await startNode(['--network', 'tempo'])
  const code = await createPublicClient({ transport: http(donor.url) }).getCode({ address: PERMIT2 })
  await donor.stop()
  if (code === undefined) throw new Error('the node has no Permit2 to take')
  const { UptoProxy } = await compile('upto-proxy.sol')
  await chain.client.setCode({ address: PERMIT2, bytecode: code })
  await chain.client.setCode({ address: PROXY, bytecode: `0x${UptoProxy?.evm.deployedBytecode.object}` })
}

const mined = (chain: TestChain, hash: Hex) => minedOn(chain.client, hash)

/** A payer with this many units who lets Permit2 move them, and has gas for changing its mind. */
export const newUptoPayer = async (chain: TestChain, units: bigint): Promise<HDAccount> => {
  const payer = await chain.newPayer(units)
  await chain.client.setBalance({ address: payer.address, value: parseEther('1') })
  const args = [PERMIT2, 2n ** 256n - 1n] as const
  await mined(
    chain,
    await chain.client.writeContract({ address: TOKEN, abi, functionName: 'approve', args, account: payer }),
  )
  return payer
}

/** Moves almost all of the payer's units out of reach, or any units anywhere. */
export const move = async (chain: TestChain, from: HDAccount, to: Address, units: bigint): Promise<void> => {
  const args = [to, units] as const
  await mined(
    chain,
    await chain.client.writeContract({ address: TOKEN, abi, functionName: 'transfer', args, account: from }),
  )
}

/** Cancels a nonce, so that what was signed under it is worth nothing. */
export const takeBack = async (chain: TestChain, payer: HDAccount, nonce: bigint): Promise<void> => {
  const args = [nonce >> 8n, 1n << (nonce & 0xffn)] as const
  await mined(
    chain,
    await chain.client.writeContract({
      address: PERMIT2,
      abi,
      functionName: 'invalidateUnorderedNonces',
      args,
      account: payer,
    }),
  )
}
