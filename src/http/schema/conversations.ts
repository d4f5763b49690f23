/** Bodies and answers of conversations. Source of the format: OpenAI API reference, "Conversations". */
import { z } from 'zod'
import { namedObject, text } from '../../core/body.ts'

const ITEMS_MOST = 20
const PAIRS_MOST = 16

const metadata = z
  .record(
    text(1, 64, 'must have names of 1 to 64 characters'),
    text(0, 512, 'must have texts of at most 512 characters'),
  )
  .refine((pairs) => Object.keys(pairs).length <= PAIRS_MOST, `must have at most ${PAIRS_MOST} pairs`)

/** What an item says is read by the response that it is sent with. */
const newItem = z
  .looseObject({})
  .refine(
    ({ type, role }) => typeof type === 'string' || typeof role === 'string',
    "must have a 'type' or a 'role'",
  )
  .refine(({ type }) => type !== 'item_reference', 'must be the item itself, not a reference to it')

const newItems = z.array(newItem).max(ITEMS_MOST, `must have at most ${ITEMS_MOST} items`)

export const newConversation = namedObject('NewConversation', {
  items: newItems.nullish(),
  metadata: metadata.nullish(),
})

export const conversationChange = namedObject('ConversationChange', { metadata })

export const itemsToAdd = namedObject('ItemsToAdd', { items: newItems.min(1, 'must have an item') })

export const conversation = namedObject('Conversation', {
  id: z.string(),
  object: z.literal('conversation'),
  created_at: z.int(),
  metadata: z.record(z.string(), z.string()),
})

export const deletedConversation = namedObject('DeletedConversation', {
  id: z.string(),
  object: z.literal('conversation.deleted'),
  deleted: z.literal(true),
})
