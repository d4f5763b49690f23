/**
 * A client that pays instead of bringing a key: its recipe unchanged, a facilitator, and a check of both ledgers
 * afterwards.
 */
import { startFacilitator, UNIT } from '../chaos/facilitator.ts'
import { costOf } from './checks.ts'
import { modelOf, openHouse } from './house.ts'
import type { Installed } from './install.ts'
import { openDesk } from './launch.ts'
import { readPage } from './page.ts'
import type { Cell, Program } from './programs/program.ts'
import { sessionAnswers, words } from './scenario.ts'
import type { VendorId } from './vendor-host.ts'

/** A wallet that belongs to nobody: the facilitator's chain gives everyone enough. */
const newPrivateKey = (): string =>
  `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`

/** Runs the recipe and returns what it found wrong. */
export const runPayment = async (
  program: Program,
  vendor: VendorId,
  installed: Installed,
): Promise<ReadonlyMap<Cell, string>> => {
  const facilitator = startFacilitator(() => 1)
  facilitator.calm()
  // Payers of version 2 pay in tokens that they know by default.
  const house = await openHouse(facilitator.section.replace(/accept:[\s\S]*/, 'accept: [base-sepolia]\n'))
  const page = readPage(program.name, { address: house.tap.address, key: '', model: modelOf[vendor] })
  const desk = openDesk(
    { ...page, variables: page.variables.replace('0x…', newPrivateKey()) },
    installed.bins,
    installed.modules,
  )
  const found = new Map<Cell, string>()
  try {
    house.vendors.play(sessionAnswers(program.run))
    const { out, errors } = await desk.run(page.first).ended
    const exchanges = house.tap.collect().map(({ status, answer }) => `${status} ${answer.slice(0, 300)}`)
    if (!out.includes(words.greeting))
      found.set('text', `it said: ${out} ${errors}\nwe answered: ${exchanges.join('\n')}`)
    const { seen } = house.vendors.collect()
    const paid = [...facilitator.settled.values()].reduce((sum, { units }) => sum + units * UNIT, 0n)
    if (seen.length !== 1 || facilitator.settled.size !== 1)
      found.set('money', `${facilitator.settled.size} payments for ${seen.length} calls of the vendor`)
    else if (paid < BigInt(costOf(seen)))
      found.set('money', `paid ${paid} nano-USD for what costs ${costOf(seen)}`)
  } finally {
    desk.remove()
    const { held, audit } = await house.close()
    facilitator.stop()
    if (held !== 0 || audit.length > 0) found.set('money', `held ${held}; ${audit.join('; ')}`)
  }
  return found
}
