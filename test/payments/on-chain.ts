/** A chain and a facilitator of its own for the tests of a group. */
import { afterAll, beforeAll } from 'bun:test'
import { startChain, type TestChain } from './chain.ts'
import { startFacilitator, type TestFacilitator } from './facilitator.ts'

/**
 * Starts both before the group's first test and stops them after its last; `prepared` runs before the facilitator
 * starts.
 */
export const onChain = (prepared: (chain: TestChain) => Promise<void> = async () => {}) => {
  let chain: TestChain
  let facilitator: TestFacilitator
  beforeAll(async () => {
    chain = await startChain()
    await prepared(chain)
    facilitator = await startFacilitator(chain)
  })
  afterAll(async () => {
    await facilitator.stop()
    await chain.stop()
  })
  return {
    get chain() {
      return chain
    },
    get facilitator() {
      return facilitator
    },
  }
}
