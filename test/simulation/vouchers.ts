/**
 * A history of payers with a deposit, who sign a voucher for each call as the official client does: they believe their own
 * signatures only, send again what was not answered, and leave when they like. Some cheat: a voucher for two calls at once, for
 * another call, one that begins where the channel stood before, one that another key signed.
 *
 * The laws: a voucher buys one answer, and each answer is charged; a channel is charged what its calls cost, each rounded up to a
 * unit; what was charged is claimed before its payer can leave, so that chain and ledger agree to the unit and the house loses
 * nothing, whatever dies in between.
 */

import { silentLog } from '../../src/core/log.ts'
import type { X402Options } from '../../src/payment/x402/offer.ts'
import { codes } from '../../src/payment/x402/voucher.ts'
import { openX402 } from '../../src/payment/x402.ts'
import type { Store } from '../../src/store/port.ts'
import { type Wallet, walletOf } from '../payments/voucher-wallet.ts'
import { CHANNEL_UNIT, createChannelChain, WITHDRAW_SECONDS } from './channel-chain.ts'
import type { Reached } from './law.ts'
import { offersIn } from './payloads.ts'
import { hash, startProcess, x402Options } from './process.ts'
import { costOf, openShop, type Reply, type Request, type Shop } from './shop.ts'
import { createStage } from './stage.ts'

const LONGEST_CALL_MS = 3_000
const PATIENCE_MS = 4_000
const PAYERS = 4
const CALLS = 6
const TRIES = 10
/** By then every process knows who leaves. */
const KNOWN_MS = 42_000
/** Calls of dead processes are over, and payers who left are gone. */
const REST_MS = WITHDRAW_SECONDS * 1_000 + 20_000
const MOST_MS = 600_000

type Answered = {
  readonly callId: string
  readonly order: number
  readonly cost: bigint
  readonly told: bigint | undefined
}

type Payer = {
  readonly wallet: Wallet
  /** Units that it believes its channel was charged, and those that it deposited. */
  charged: bigint
  deposited: bigint
  /** By what they allow in all. */
  readonly signed: Map<string, string>
  /** By the voucher: where it begins and ends. */
  readonly answers: Map<string, Answered[]>
  /** When it announced that it leaves. */
  leftAt: number | undefined
}

type Voucher = {
  readonly name: string
  readonly header: string
  readonly begins: bigint
  readonly forged: boolean
}

type Process = { readonly shop: Shop; dead: boolean }

const decoded = (header: string | undefined): any =>
  header === undefined ? undefined : JSON.parse(Buffer.from(header, 'base64').toString())

export const runVouchers = (seed: number, reached: Reached): void => {
  const stage = createStage(seed, reached)
  const { world, hit, fail, guard, sleep } = stage
  const { pick, random } = world.draws('payers')
  const chain = createChannelChain(world, hit)
  const [named] = x402Options.offers
  if (named === undefined) throw new Error('no token is named')
  const offer = { ...named, nanoPerUnit: CHANNEL_UNIT, rpcUrl: 'http://node.invalid' }
  const options: X402Options = {
    ...x402Options,
    offers: [offer],
    channels: {
      withdrawSeconds: WITHDRAW_SECONDS,
      // In some histories only a payer who leaves makes the house claim.
      claimSum: random() < 0.5 ? 1_000_000n : 1_000_000_000_000n,
      claimSeconds: random() < 0.5 ? 20 : 100_000,
    },
  }
  const processes: Process[] = []
  const payers: Payer[] = Array.from({ length: PAYERS }, (_, at) => {
    const wallet = walletOf(seed * PAYERS + at + 1, { ...offer, withdrawSeconds: WITHDRAW_SECONDS })
    chain.know(wallet)
    return { wallet, charged: 0n, deposited: 0n, signed: new Map(), answers: new Map(), leftAt: undefined }
  })
  /** Calls that were charged when their process died, before their answer went out. */
  const unanswered = new Set<string>()
  let store: Store
  let [generation, serial] = [0, 0]
  let [buying, finished] = [true, false]

  const begin = (slot: number): void => {
    const process = { dead: false }
    const alive = () => !process.dead
    const link = { partitioned: false, slow: false, alive }
    const way = { name: `p${slot}.${generation++}`, link, refused: fail, longestCallMs: LONGEST_CALL_MS }
    const shop = openShop(world, startProcess(world, store, way), chain.railOf(alive), options)
    processes[slot] = Object.assign(process, { shop })
  }

  const troubles = async (): Promise<void> => {
    for (;;) {
      await sleep(pick(500, 15_000))
      if (!buying) return
      const slot = pick(0, 1)
      const process = processes[slot]
      if (process !== undefined) process.dead = true
      hit('vouchers: killed')
      begin(slot)
    }
  }

  /** Whether its process dies just when it has charged a call and made the answer. */
  const diesAfterCharge = (process: Process, reply: Reply): boolean => {
    if (!buying || !reply.complete || process.dead || random() >= 0.04) return false
    unanswered.add(reply.callId)
    process.dead = true
    begin(processes.indexOf(process))
    return true
  }

  /** What the caller gets: nothing from a process that died, and nothing after its patience. */
  const ask = (request: Request): Promise<Reply | undefined> =>
    new Promise((resolve) => {
      world.after(PATIENCE_MS, () => resolve(undefined))
      const process = processes[pick(0, 1)]
      process?.shop.ask(request).then(
        (reply) => reply && !process.dead && !diesAfterCharge(process, reply) && resolve(reply),
        (error: unknown) => fail(String(error)),
      )
    })

  /** Signs for what an offer asks, from where the payer believes its channel to stand, with a deposit if it is short. */
  const sign = (payer: Payer, accepted: any, how: 'well' | 'forged' | 'behind' = 'well'): Voucher => {
    const { wallet } = payer
    const { channelId, config } = wallet
    const units = BigInt(accepted.amount)
    const begins = how === 'behind' ? 0n : payer.charged
    const most = begins + units
    const signature = wallet.sign(most, how === 'forged')
    if (how !== 'forged') payer.signed.set(String(most), signature)
    const missing = most > payer.deposited && random() < 0.97
    const amount = units * BigInt(pick(1, 5))
    const deposit = { amount: String(amount), nonce: `d${++serial}`, poor: random() < 0.04 }
    if (missing && how === 'well' && !deposit.poor) payer.deposited += amount
    const voucher = { channelId, maxClaimableAmount: String(most), signature }
    const payload = missing
      ? { type: 'deposit', channelConfig: config, voucher, deposit }
      : { type: 'voucher', channelConfig: config, voucher }
    const header = Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64')
    return { name: `${begins} ${most}`, header, begins, forged: how === 'forged' }
  }

  /** Sends a call with a voucher, and notes the answer under it. */
  const present = async (payer: Payer, request: Request, it: Voucher): Promise<Reply | undefined> => {
    const sentAt = world.now()
    const reply = await ask({ ...request, payment: { version: 2, header: it.header } })
    hit(`vouchers: ${reply === undefined ? 'no answer' : reply.status === 500 ? 'fault' : reply.code}`)
    if (reply?.status === 402) stands(payer, reply)
    // Its deposit never came: it looks at the chain.
    if (reply?.code === codes.notFound || reply?.code === codes.beyondDeposit)
      payer.deposited = chain.at(payer.wallet.channelId).balance
    if (reply?.complete !== true) return reply
    if (payer.leftAt !== undefined && sentAt > payer.leftAt + KNOWN_MS)
      fail('a payer who leaves bought an answer')
    if (unanswered.has(reply.callId)) hit('vouchers: charged, killed, and answered when sent again')
    if (it.forged) fail('a voucher that another key signed bought an answer')
    const told = decoded(reply.headers['payment-response'])?.extra?.channelState?.chargedCumulativeAmount
    const { order } = request
    const answers = payer.answers.get(it.name) ?? []
    answers.push({ callId: reply.callId, order: order.id, cost: costOf(order), told: reply.cost })
    payer.answers.set(it.name, answers)
    if (told !== undefined) payer.charged = BigInt(told)
    return reply
  }

  /** A 402 may say where the channel stands: the payer believes it under its own signature. */
  const stands = (payer: Payer, reply: Reply): void => {
    const offered = offersIn(reply.headers['payment-required'])
    const { channelState, voucherState } =
      offered.find(({ scheme }) => scheme === 'batch-settlement')?.extra ?? {}
    if (channelState === undefined) return
    const charged = BigInt(channelState.chargedCumulativeAmount)
    if (voucherState !== undefined) {
      if (payer.signed.get(voucherState.signedMaxClaimable) !== voucherState.signature)
        fail('a channel stands on what its payer never signed')
      if (charged > BigInt(voucherState.signedMaxClaimable)) fail('a channel was charged beyond its voucher')
    } else if (charged > 0n) fail('a channel was charged without a voucher')
    payer.charged = charged
    hit('vouchers: corrected')
  }

  const orderOf = (): Request => ({
    order: {
      id: pick(100_000, 999_999),
      input: pick(1, 60),
      output: pick(1, 100),
      ms: random() < 0.05 ? pick(400, 2_500) : pick(1, 200),
    },
    stream: random() < 0.5,
    maxTokens: pick(100, 200),
    bearer: false,
  })

  const accepts = async (request: Request): Promise<any> => {
    const quote = await ask(request)
    if (quote?.status !== 402) return undefined
    return offersIn(quote.headers['payment-required']).find(({ scheme }) => scheme === 'batch-settlement')
  }

  /** Sends until it is answered, or another voucher must be signed. */
  const insist = async (payer: Payer, request: Request, it: Voucher): Promise<boolean> => {
    for (let tries = 0; tries < TRIES; tries++) {
      const sent = [present(payer, request, it)]
      if (random() < 0.15) sent.push(present(payer, request, it))
      if (random() < 0.1) sent.push(cheat(payer, it))
      const [reply] = await Promise.all(sent)
      if (reply?.complete === true) return true
      if (reply?.status === 402 && reply.code !== codes.busy) return false
      if (random() < 0.1) return false
      await sleep(pick(20, 2_500))
    }
    return false
  }

  /** Another call under the same voucher, or under one that is no good. */
  const cheat = async (payer: Payer, it: Voucher): Promise<Reply | undefined> => {
    const other = orderOf()
    const accepted = await accepts(other)
    if (accepted === undefined) return undefined
    const draw = random()
    if (draw < 0.4) return present(payer, other, it)
    const { charged } = payer
    const reply = await present(payer, other, sign(payer, accepted, draw < 0.7 ? 'behind' : 'forged'))
    if (draw < 0.7 && charged > 0n && reply?.complete === true)
      fail('a voucher that goes back bought an answer')
    return reply
  }

  const buy = async (payer: Payer): Promise<void> => {
    const request = orderOf()
    for (let tries = 0; tries < TRIES; tries++) {
      const accepted = await accepts(request)
      if (accepted !== undefined && (await insist(payer, request, sign(payer, accepted))))
        return hit('vouchers: answered')
      if (random() < 0.1) return hit('vouchers: payer gave up')
      await sleep(pick(20, 800))
    }
  }

  const live = async (payer: Payer): Promise<void> => {
    await sleep(pick(1, 2_000))
    // Who leaves tries to buy once more at once, and later, when it must be known.
    for (let [call, after] = [0, 0]; call < CALLS && after < 2; call++) {
      if (payer.leftAt !== undefined && after++ > 0) await sleep(KNOWN_MS)
      await buy(payer)
      if (payer.leftAt === undefined && random() < 0.06) {
        payer.leftAt = world.now()
        chain.leave(payer.wallet)
        hit('vouchers: a payer leaves')
      }
      await sleep(pick(10, 6_000))
    }
  }

  /** With all processes gone, a new one claims what is left. */
  const rest = async (): Promise<void> => {
    for (const process of processes) process.dead = true
    chain.calm()
    const clock = world.clock(() => !finished)
    const channels = { ...options.channels, claimSum: 1n, claimSeconds: 1, withdrawSeconds: WITHDRAW_SECONDS }
    const parts = { store, clock, log: silentLog, hash, options: { ...options, channels } }
    const mode = await openX402(
      parts,
      chain.railOf(() => true),
    )
    mode.stop()
    for (let round = 0; round < 6; round++) {
      await store.ledger.reap({ graceMs: 0, longestCallMs: 0 })
      await mode.round()
      await sleep(11_000)
    }
  }

  /** What a channel's calls were charged, each in whole units. */
  const checkPayer = async ({ wallet, answers }: Payer): Promise<void> => {
    const id = `${offer.network}:${wallet.channelId}`
    const channel = await store.channels.channel(id)
    const on = chain.at(wallet.channelId)
    if (channel === undefined) {
      if (answers.size > 0) fail('answers, and no channel')
      return
    }
    const { charged, claimed, lost, pending } = channel
    if (pending !== undefined) fail('what became of a voucher was never found out')
    if (lost > 0n) fail(`the house lost ${lost} of a channel that it could have claimed`)
    if (claimed !== on.claimed * CHANNEL_UNIT)
      fail(`${on.claimed * CHANNEL_UNIT} was claimed, in the ledger ${claimed}`)
    if (claimed !== charged) fail(`charged ${charged}, claimed ${claimed}`)
    const calls = new Map(
      (await store.channels.paidByVoucher(wallet.config.payer, 1_000)).map((one) => [one.callId, one.amount]),
    )
    let sum = 0n
    for (const [callId, amount] of calls) {
      const used = (await store.ledger.transfersOf(callId)).filter(({ kind }) => kind === 'usage')
      const cost = used.reduce((all, one) => all + one.amount, 0n)
      if (used.length !== 1) fail(`a call under a voucher is charged ${used.length} times`)
      if (amount < cost || amount >= cost + CHANNEL_UNIT)
        fail(`cost ${cost}, its channel was charged ${amount}`)
      sum += amount
    }
    if (sum !== charged) fail(`calls for ${sum} were charged as ${charged}`)
    for (const [name, given] of answers) {
      const [first] = given
      for (const { callId, order, cost, told } of given) {
        if (callId !== first?.callId || order !== first.order) fail(`the voucher ${name} bought two answers`)
        if (told !== undefined && told !== cost) fail(`told ${told} for ${cost}`)
        if (calls.get(callId) === undefined) fail('an answer was not paid')
        const posted = (await store.ledger.transfersOf(callId)).filter(({ kind }) => kind === 'usage')
        if (posted.some(({ amount }) => amount !== cost)) fail(`an answer for ${cost} was charged otherwise`)
        hit('vouchers: bill exact')
      }
    }
  }

  const run = async (): Promise<void> => {
    store = await stage.openLedger()
    begin(0)
    begin(1)
    await sleep(1_000)
    guard(troubles())
    await Promise.all(payers.map(live))
    buying = false
    await sleep(REST_MS)
    await rest()
    for (const payer of payers) await checkPayer(payer)
    const { claimed, swept } = chain.sums
    if ((await store.ledger.balance('x402')) !== -claimed * CHANNEL_UNIT)
      fail(`claimed ${claimed * CHANNEL_UNIT}, in the ledger ${await store.ledger.balance('x402')}`)
    if (swept !== claimed) fail(`claimed ${claimed}, the receiver has ${swept}`)
    await stage.audit(store)
    finished = true
  }

  guard(run())
  stage.playUntil(MOST_MS, () => finished)
  for (const process of processes) process.dead = true
  world.runUntil(world.now() + PATIENCE_MS)
  stage.judge(finished, 'the payers with vouchers')
}
