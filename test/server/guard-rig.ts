/** Servers with guardrails for tests. */
import type { GuardRule } from '../../src/guardrails/rules.ts'
import { byTest } from '../by-test.ts'
import type { TestServer } from './harness.ts'

/** Sets the rules of the server's wallet, and waits until they hold. */
export const withRules = async (
  { store, gateway, wallet }: Pick<TestServer, 'store' | 'gateway' | 'wallet'>,
  guardrails: readonly GuardRule[] | null,
): Promise<void> => {
  const changed = await store.wallets.changeWalletRules(wallet, () => ({ guardrails }), byTest)
  if (!('at' in changed)) throw new Error('the rules were not changed')
  await gateway.book.untilKnown(changed.at)
}
