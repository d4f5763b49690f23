/**
 * A recording of a streamed answer: the call writes it once, and everyone who sent the same call reads it from the
 * beginning.
 */
import { concat } from '../../core/json-body.ts'
import type { IdempotencyRef } from '../../ledger/types.ts'
import type { ByteStream } from './answer.ts'
import { newPace, type Patience } from './patience.ts'

/** Where and how a call's answer is kept for repeats. */
export type Keep = {
  readonly ref: IdempotencyRef
  /** There is no room to record more: the answer must end. */
  readonly full: () => boolean
  /** The answer's text: everything recorded, and these last pieces. */
  readonly textWith: (last: readonly Uint8Array[]) => string
}

export type Recording = {
  append(piece: Uint8Array): void
  end(): void
  pieces(): readonly Uint8Array[]
  /** A piece found no room. */
  full(): boolean
  /**
   * All pieces from the first on, waiting for those to come. A reader that takes nothing for too long is ended. `done` is
   * called once, when its reader has them or is gone.
   */
  read(done?: () => void): ByteStream
}

/** Who a recording's bytes are counted for, as long as somebody may read it. */
type RecordingSpace = {
  readonly take: (bytes: number) => boolean
  readonly giveBack: (bytes: number) => void
  readonly patience: Patience
}

/** What is recorded is in memory a second time, as text, while it is stored. */
const TIMES = 2

export const newRecording = (room: RecordingSpace): Recording => {
  const pieces: Uint8Array[] = []
  let bytes = 0
  let readers = 0
  let full = false
  let ended = false
  let changed = Promise.withResolvers<void>()
  const wake = () => {
    const waiting = changed
    changed = Promise.withResolvers()
    waiting.resolve()
  }
  const letGo = () => {
    if (!ended || readers > 0) return
    room.giveBack(bytes)
    bytes = 0
  }
  return {
    append: (piece) => {
      const needed = piece.length * TIMES
      if (room.take(needed)) bytes += needed
      else full = true
      pieces.push(piece)
      wake()
    },
    end: () => {
      ended = true
      wake()
      letGo()
    },
    pieces: () => pieces,
    full: () => full,
    read: (done) => {
      readers++
      const pace = newPace()
      let next = 0
      const close = () => {
        if (pace.over) return
        room.patience.end(pace)
        readers--
        letGo()
        done?.()
      }
      const take = async (): Promise<IteratorResult<Uint8Array>> => {
        pace.offered = false
        pace.taken++
        while (!pace.over && next >= pieces.length && !ended) await changed.promise
        const value = pace.over ? undefined : pieces[next++]
        pace.offered = true
        if (value !== undefined) return { done: false, value }
        close()
        return { done: true, value: undefined }
      }
      const stream: ByteStream = {
        next: take,
        return: () => {
          close()
          return Promise.resolve({ done: true, value: undefined })
        },
        [Symbol.asyncIterator]: () => stream,
      }
      // Its first piece is there, so a reader that never begins is ended too.
      pace.offered = true
      room.patience.watch(pace, close)
      return stream
    },
  }
}

export const keepIn = (ref: IdempotencyRef, recording: Recording): Keep => ({
  ref,
  full: recording.full,
  textWith: (last) => new TextDecoder().decode(concat([...recording.pieces(), ...last])),
})
