/** The record of events as a chain: shown to whoever checks it elsewhere, and checked here. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { checkChain } from '../../receipts/event-chain.ts'
import { publicKeyOf } from '../../receipts/keys.ts'
import { act } from '../act.ts'
import { count } from '../read.ts'
import { checkWholeHouse } from '../who.ts'

const PAGE = 1_000

const link = z.object({
  seq: z.int(),
  hash: z.string(),
  fixed: z.string().describe('The text of what never changes'),
  named: z.string().describe('The hash of salt and text'),
  text: z.string().describe('What names people, as it is now'),
  salt: z.string().nullable().describe('null once somebody whom it names was forgotten'),
})

export const eventChain = act({
  name: 'event.chain',
  summary:
    'The chain of all events, oldest first, and its signed heads; docs/events.md says how it is checked.',
  reads: ['events'],
  input: {
    after: count(0, 999_999_999).describe('The `seq` of the last one before'),
    limit: count(1, PAGE),
  },
  shows: namedObject('EventChain', {
    data: z.array(link),
    heads: z.array(z.string()),
    has_more: z.boolean(),
  }),
  does: async ({ control, who }, { after = 0, limit = PAGE }) => {
    checkWholeHouse(who)
    const { chain } = control.store
    const found = await chain.links(after, limit + 1)
    return {
      data: found
        .slice(0, limit)
        .map(({ at: _at, what: _what, salt, ...one }) => ({ ...one, salt: salt ?? null })),
      heads: [...(await chain.heads())],
      has_more: found.length > limit,
    }
  },
})

export const eventAudit = act({
  name: 'event.audit',
  summary: 'Checks the chain of all events: whether one was changed, is missing, or was inserted later.',
  reads: ['events'],
  input: {},
  shows: namedObject('EventAudit', {
    events: z.int(),
    heads: z.int().describe('Signed ends of the chain'),
    forgotten: z.int().describe('Events that name somebody who was forgotten'),
    wrong: z.string().nullable().describe('What is wrong first; null if nothing is'),
  }),
  does: async ({ control, who }) => {
    checkWholeHouse(who)
    const { chain, receipts } = control.store
    const keys = (await receipts.receiptKeys()).flatMap(({ publicKey }) => publicKeyOf(publicKey) ?? [])
    const heads = await chain.heads()
    const checking = checkChain(heads, new Map(keys.map(({ kid, key }) => [kid, key])))
    for (let after = 0, more = true; more; ) {
      const page = await chain.links(after, PAGE)
      for (const one of page) checking.add(one)
      after = page.at(-1)?.seq ?? after
      more = page.length === PAGE
    }
    const { links, forgotten, wrong } = checking.end()
    return { events: links, heads: heads.length, forgotten, wrong: wrong ?? null }
  },
})
