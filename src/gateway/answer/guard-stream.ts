/** A stream whose texts guardrails look through, between the vendor's codec and the caller. */
import { refusalBody } from '../../core/refusal.ts'
import type { StreamRelay } from '../../dialects/relay.ts'
import type { AnswerGuard } from '../../guardrails/answer-guard.ts'
import type { StreamTexts } from '../../guardrails/stream-texts.ts'
import type { Task } from '../parts/task.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The relay without its shortcut: every event is read. */
export const guardedRelay = (relay: StreamRelay, guard: AnswerGuard, { trace }: Task): GuardedRelay =>
  new GuardedRelay(relay, guard, trace.callId)

class GuardedRelay implements StreamRelay {
  readonly progress: StreamRelay['progress']
  readonly #relay: StreamRelay
  readonly #guard: AnswerGuard
  readonly #callId: string
  readonly #texts: StreamTexts

  constructor(relay: StreamRelay, guard: AnswerGuard, callId: string) {
    this.progress = relay.progress
    this.#relay = relay
    this.#guard = guard
    this.#callId = callId
    this.#texts = guard.texts()
  }

  follow(event: Parameters<StreamRelay['follow']>[0]): Uint8Array | undefined {
    const bytes = this.#relay.follow(event)
    return bytes === undefined ? undefined : this.passed(bytes)
  }

  /** What of these events, and of those that waited, may go on. */
  passed(bytes: Uint8Array): Uint8Array | undefined {
    const ready = this.#texts.feed(decoder.decode(bytes))
    return ready === '' || this.#guard.blocked !== undefined ? undefined : encoder.encode(ready)
  }

  usage(): ReturnType<StreamRelay['usage']> {
    return this.#relay.usage()
  }

  tier(): string | undefined {
    return this.#relay.tier?.()
  }

  /** If the last words are blocked, the stream ends as one that is. */
  end(ending: Parameters<StreamRelay['end']>[0]): string {
    const last = this.#texts.feed(this.#relay.end(ending))
    const rest = last + this.#texts.end()
    const { blocked } = this.#guard
    return blocked === undefined ? rest : this.fail(refusalBody(blocked, this.#callId).error)
  }

  fail(error: Parameters<StreamRelay['fail']>[0]): string {
    const waited = this.#texts.end()
    return (this.#guard.blocked === undefined ? waited : '') + this.#guard.failed(this.#relay.fail(error))
  }
}
