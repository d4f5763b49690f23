/**
 * The codec when caller and vendor speak the same dialect: bytes pass through, and the bill is added on the way back.
 */
import { exactValue } from '../core/exact-json.ts'
import type { JsonBody } from '../core/json-body.ts'
import type { Usage } from '../core/usage.ts'
import type { Billed } from './bill-members.ts'
import {
  type CallCodec,
  callerOf,
  idMaker,
  readBody,
  type Sides,
  servedTier,
  type WholeReply,
} from './codec.ts'
import type { VendorDialect } from './dialect.ts'
import type { StreamRelay } from './relay.ts'
import { type ReplyStream, streamOfReply } from './reply-steps.ts'
import { watchingTier } from './served-tier.ts'

type Pass = NonNullable<VendorDialect['pass']>

const nothing: readonly string[] = []

export class PassingCodec implements CallCodec {
  readonly path: string
  readonly body: Uint8Array
  readonly notCarried: readonly string[]
  readonly #sides: Sides
  readonly #vendor: VendorDialect
  readonly #pass: Pass

  constructor(sides: Sides, vendor: VendorDialect, pass: Pass) {
    const { call, target } = sides
    this.path = vendor.path(target.model, call.stream)
    this.body = pass.call(call, target)
    this.notCarried = pass.notCarried?.(call, target) ?? nothing
    this.#sides = sides
    this.#vendor = vendor
    this.#pass = pass
  }

  readWhole(bytes: Uint8Array): WholeReply | undefined {
    const sent = readBody(bytes)
    if (sent === undefined || !this.#pass.isReply(sent.value)) return undefined
    const { traits, context } = this.#sides
    const body = this.#pass.changed?.(sent, traits, context) ?? sent
    return new PassedReply(this.#sides, this.#vendor, body)
  }

  relay(): StreamRelay {
    const { call, target, traits, context } = this.#sides
    const relay = this.#pass.relay(traits, call.listed === true, call.modelName, context)
    return watchingTier(this.#vendor, target.model, relay)
  }
}

class PassedReply implements WholeReply {
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly blocked = false
  readonly notCarried = nothing
  readonly #sides: Sides
  readonly #vendor: VendorDialect
  readonly #body: JsonBody

  constructor(sides: Sides, vendor: VendorDialect, body: JsonBody) {
    const { target, traits } = sides
    this.usage = vendor.usageOf(body.value, traits)
    this.tier = servedTier(vendor, target.model, body.value)
    this.#sides = sides
    this.#vendor = vendor
    this.#body = body
  }

  letters(): number {
    return this.#vendor.letters(this.#body.value)
  }

  addBill(billed: Billed): Uint8Array {
    const { call } = this.#sides
    return callerOf(call).addBill(this.#body, billed, call.modelName)
  }

  asStream(): ReplyStream | undefined {
    const { call, context } = this.#sides
    const { usage, tier } = this
    const given = context()
    const reply = this.#vendor.readReply(exactValue(this.#body), idMaker(given.requestId))
    return reply === undefined
      ? undefined
      : streamOfReply(
          { ...reply, usage, tier },
          { caller: callerOf(call), context: given, listed: call.listed },
        )
  }
}
