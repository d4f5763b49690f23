/** Bodies and answers of conversations. Source of the format: OpenAI API reference, "Conversations". */
import { z } from 'zod'
import { text } from '../../core/body.ts'

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

export const newConversation = z
  .object({ items: newItems.nullish(), metadata: metadata.nullish() })
  .meta({ id: 'NewConversation' })

export const conversationChange = z.object({ metadata }).meta({ id: 'ConversationChange' })

export const itemsToAdd = z.object({ items: newItems.min(1, 'must have an item') }).meta({ id: 'ItemsToAdd' })

export const conversation = z
  .object({
    id: z.string(),
    object: z.literal('conversation'),
    created_at: z.int(),
    metadata: z.record(z.string(), z.string()),
  })
  .meta({ id: 'Conversation' })

export const deletedConversation = z
  .object({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.literal(true) })
  .meta({ id: 'DeletedConversation' })
