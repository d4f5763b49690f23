/** Responses that are kept for the key that asked for it, so that its later requests can name them. */
import type { KeyId } from '../../tenancy/key.ts'

/** One item of an output. */
export type KeptItem = { readonly id: string; readonly body: string }

export type KeptResponse = {
  readonly keyId: KeyId
  readonly id: string
  /** The response that it continued. */
  readonly previousId: string | undefined
  /** JSON of the request's own items, as a list. */
  readonly input: string
  /** JSON of the response without its output. */
  readonly body: string
  readonly output: readonly KeptItem[]
  /** For what later requests cannot continue by its id: an answer within a conversation, and a conversation itself. */
  readonly state?: 'ended' | 'conversation' | undefined
}

type KeptRef = Pick<KeptResponse, 'keyId' | 'id'>

export type ItemOrder = 'asc' | 'desc'

/** Where an item is in its output, and how large it is. */
export type ItemPlace = { readonly place: number; readonly bytes: number }

/** Items of a conversation, which is kept as a response is. */
export type ConversationStore = {
  /** The JSON of a conversation without its items. */
  conversationHead(it: KeptRef): Promise<string | undefined>
  /**
   * Adds the output at its end, and keeps it for another `lifeMs`; a conversation is full if it would have more than
   * `bytesMax`.
   */
  addItems(
    it: Pick<KeptResponse, 'keyId' | 'id' | 'output'>,
    within: { readonly lifeMs: number; readonly bytesMax: number },
  ): Promise<'added' | 'full' | 'not there'>
  /** Replaces its JSON. False if there is none. */
  rewrite(it: KeptRef, body: string): Promise<boolean>
  /** False if there is no such item. */
  removeItem(it: KeptRef, itemId: string): Promise<boolean>
}

/** Items of everything that is kept for a key. */
export type ItemStore = {
  /** The bytes of the named items of outputs, by id; missing ones are left out. */
  itemSizes(keyId: KeyId, ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** JSON of the named items of outputs, by id, of each the newest that is not larger than its size. */
  keptItems(keyId: KeyId, sizes: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, string>>
  /** The first item of that name in an order; undefined if there is none. */
  itemPlace(it: KeptRef, itemId: string, order: ItemOrder): Promise<ItemPlace | undefined>
  /** The places of the next items of an output in an order, at most `limit`. */
  itemPlaces(
    it: KeptRef,
    page: { readonly after: number | undefined; readonly limit: number; readonly order: ItemOrder },
  ): Promise<readonly ItemPlace[]>
  /** JSON of the items from one place to another, in their order. */
  itemsAt(it: KeptRef, from: number, to: number): Promise<readonly string[]>
}

export type ResponseStore = ItemStore & {
  /**
   * Keeps a response for `lifeMs`; the same id again replaces it. If a key's responses exceed their limit, its oldest
   * ones are deleted.
   */
  keepResponse(response: KeptResponse, lifeMs: number): Promise<void>
  /**
   * The items of a conversation up to and including a response, oldest first, as JSON: each request's list, and each
   * item of an output. All of it is kept for another `lifeMs`. Undefined when part of it no longer exists, or when it
   * is longer than `bytesMax`.
   */
  conversation(
    keyId: KeyId,
    id: string,
    within: { readonly lifeMs: number; readonly bytesMax: number },
  ): Promise<readonly string[] | undefined>
  /** The bytes of a response and those before it, as `conversation` would return them; 0 if there is none. */
  chainBytes(keyId: KeyId, id: string, bytesMax: number): Promise<number>
  /** The bytes of a response or conversation by itself; 0 if there is none. */
  keptBytes(keyId: KeyId, id: string): Promise<number>
  /** JSON of the request's own items, of the response without its output, and of each item of the output. */
  keptResponse(
    keyId: KeyId,
    id: string,
  ): Promise<
    | {
        readonly input: string
        readonly body: string
        readonly output: readonly string[]
        /** It is still being made, in the background. */
        readonly open: boolean
      }
    | undefined
  >
  /** False if there is none. */
  forgetResponse(keyId: KeyId, id: string): Promise<boolean>
}
