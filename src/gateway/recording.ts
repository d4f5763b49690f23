/** A recording of a streamed answer: written once by the call, read from its beginning by everyone who sent the same call. */
import { concat } from '../core/json-body.ts'
import type { IdempotencyRef } from '../ledger/words.ts'

/** Where and how a call's answer is kept for repeats. */
export type Keep = {
  readonly ref: IdempotencyRef
  /** The answer's text: all that was recorded, and these last pieces. */
  readonly textWith: (last: readonly Uint8Array[]) => string
}

export type Recording = {
  append(piece: Uint8Array): void
  end(): void
  pieces(): readonly Uint8Array[]
  /** All pieces from the first, waiting for those to come. */
  read(): AsyncGenerator<Uint8Array>
}

export const newRecording = (): Recording => {
  const pieces: Uint8Array[] = []
  let ended = false
  let changed = Promise.withResolvers<void>()
  const wake = () => {
    const waiting = changed
    changed = Promise.withResolvers()
    waiting.resolve()
  }
  return {
    append: (piece) => {
      pieces.push(piece)
      wake()
    },
    end: () => {
      ended = true
      wake()
    },
    pieces: () => pieces,
    async *read() {
      for (let next = 0; ; ) {
        const piece = pieces[next]
        if (piece !== undefined) {
          next++
          yield piece
        } else if (ended) return
        else await changed.promise
      }
    },
  }
}

export const keepIn = (ref: IdempotencyRef, recording: Recording): Keep => ({
  ref,
  textWith: (last) => new TextDecoder().decode(concat([...recording.pieces(), ...last])),
})
