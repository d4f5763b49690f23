/** Leaving for the console of another cell: which organisations there are elsewhere, and the hand-over to one. */

import { personById } from '../../control/people/new-person.ts'
import { hows, isProved } from '../../control/people/proof.ts'
import { refuse } from '../../core/refusal.ts'
import { type ConsoleRoute, type Here, personOf, type Reply } from '../here.ts'
import { bodied, route } from '../row.ts'
import { elsewhere, handedOver, handOverBody } from '../schema/cells.ts'
import { recordOwn } from '../sign-in/session-parts.ts'
import { newHandOver, signed } from './hand-over.ts'
import { askOthers, otherCells } from './others.ts'

/** The proof that is stored of the person's address, if it counts. */
const proofHere = async (here: Here) => {
  const { store, clock } = here.gateway
  const person = await personById(store.people, personOf(here).personId)
  if (person?.provedAt === undefined || !isProved(person, clock.now())) return undefined
  const how = hows.find((one) => one === person.provedHow)
  if (how === undefined) return undefined
  return { email: person.email, proof: { how, at: person.provedAt } }
}

const showElsewhere = async (here: Here): Promise<Reply> => {
  if (otherCells(here.gateway).length === 0) return { value: { proved: true, cells: [] } }
  const proved = await proofHere(here)
  if (proved === undefined) return { value: { proved: false, cells: [] } }
  return { value: { proved: true, cells: await askOthers(here.gateway, proved.email) } }
}

const handOver = async (
  here: Here,
  { cell: name, organisation }: { cell: string; organisation: string },
): Promise<Reply> => {
  const { gateway } = here
  const { personId, createdAt } = personOf(here)
  const cell = otherCells(gateway).find((one) => one.name === name)
  if (cell === undefined || gateway.cells === undefined)
    throw refuse('not_found', 'There is no such cell with a console here.')
  const proved = await proofHere(here)
  if (proved === undefined)
    throw refuse('forbidden', 'Nobody has proved that this e-mail address is yours, or not for a year.', {
      members: { reason: 'not_proved' },
    })
  const { email, proof } = proved
  const made = newHandOver({
    from: gateway.cells.own,
    to: name,
    email,
    organisation,
    proof,
    signedAt: createdAt,
    madeAt: gateway.clock.now(),
  })
  await recordOwn(here, { id: personId, email }, 'person.handed_over', { cell: name, organisation })
  return {
    value: {
      to: `${cell.console}/console/enter`,
      hand_over: signed(gateway.hash, 'hand-over between cells', made),
    },
  }
}

export const leaveRoutes: readonly ConsoleRoute[] = [
  route('GET /session/elsewhere', {
    summary: 'The organisations of the person in other cells; a cell that does not answer is away.',
    audience: 'person',
    answer: elsewhere,
    handler: showElsewhere,
  }),
  bodied('POST /session/hand-over', {
    summary: 'What signs the person in at the console of another cell, once, within a minute.',
    audience: 'person',
    body: handOverBody,
    answer: handedOver,
    handler: handOver,
  }),
]
