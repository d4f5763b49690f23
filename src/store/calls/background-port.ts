/** Kept responses that are made while nobody waits: open for the process that makes them, with the events of their streams. */
import type { CallId, IdempotencyRef, InstanceId } from '../../ledger/types.ts'
import type { KeptResponse } from './response-port.ts'

/** Which response: its id is one of those of its key. */
export type ResponseRef = Pick<KeptResponse, 'keyId' | 'id'>

/** Events of a stream as JSON, numbered from `place`. */
export type NewEvents = ResponseRef & { readonly place: number; readonly events: readonly string[] }

type NewBackground = Omit<KeptResponse, 'output'> & {
  readonly callId: CallId
  readonly owner: InstanceId
  /** The first events of its stream; none if it has no stream. */
  readonly events: readonly string[]
  /** The claim of its Idempotency-Key, which from now on belongs to the response. */
  readonly claim?: IdempotencyRef | undefined
}

export type BackgroundEnd = NewEvents &
  Pick<KeptResponse, 'body' | 'output'> & {
    /** Whether later requests may continue it. */
    readonly continues: boolean
  }

/** A response whose process has gone, and the number of the next event of its stream. */
type LostResponse = ResponseRef & { readonly body: string; readonly next: number }

export type BackgroundStore = {
  begin(response: NewBackground, lifeMs: number): Promise<void>
  /** Adds events; those of a response that is no longer open are dropped. */
  append(all: readonly NewEvents[]): Promise<void>
  /** Ends it, once, together with its last events. */
  end(it: BackgroundEnd, lifeMs: number): Promise<void>
  /** The open responses of an owner; one that was deleted is not among them. */
  news(owner: InstanceId): Promise<readonly (ResponseRef & { readonly cancel: boolean })[]>
  askCancel(it: ResponseRef): Promise<void>
  /** Open responses of other processes that are silent. Whoever ends one first ends it. */
  lost(by: InstanceId, most: number): Promise<readonly LostResponse[]>
  /**
   * The next events of a stream from number `from` on, and whether more may come. Undefined if there is no response, or
   * it has no stream.
   */
  events(
    it: ResponseRef,
    from: number,
  ): Promise<{ readonly open: boolean; readonly events: readonly string[] } | undefined>
}
