/** Each mutation breaks one rule of the protocol: a piece of the sources, and what stands there instead. */
export type Mutation = {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
}

export const mutations: readonly Mutation[] = [
  {
    name: 'answer before the charge is durable',
    file: 'src/book/open-hold.ts',
    from: 'return new Promise((resolve, reject) => {\n      this.#parts.writer.settle(settle',
    to: 'return new Promise((resolve, reject) => {\n      resolve({ charged: charge, remaining: 0n })\n      this.#parts.writer.settle(settle',
  },
  {
    name: 'a grant ignores what is held of the wallet',
    file: 'src/store/payer.ts',
    from: "nanoOf(account, 'balance') - nanoOf(account, 'held') + creditOf(account)",
    to: "nanoOf(account, 'balance') + creditOf(account)",
  },
  {
    name: 'a grant ignores what is held of a cap',
    file: 'src/store/grant-meters.ts',
    from: "const room = lim - nanoOf(row, 'used') - nanoOf(row, 'held')",
    to: "const room = lim - nanoOf(row, 'used')",
  },
  {
    name: 'a grant lends more than the credit line',
    file: 'src/store/payer.ts',
    from: "maybeNano(account, 'lim') ?? 0n",
    to: "2n * (maybeNano(account, 'lim') ?? 0n)",
  },
  {
    name: 'a purse forgets which account pays',
    file: 'src/book/borrow.ts',
    from: '...(path.account === undefined ? {} : { account: path.account }),',
    to: '',
  },
  {
    name: 'a grant grows a lease on another account',
    file: 'src/store/grant-meters.ts',
    from: 'l.day = $3 and l.wallet_id = $4\n',
    to: "l.day = $3 and $4 <> ''\n",
  },
  {
    name: 'a grant counts twice in memory',
    file: 'src/book/lease.ts',
    from: 'lease.room += granted.grown',
    to: 'lease.room += granted.grown * 2n',
  },
  {
    name: 'an intent is not fenced',
    file: 'src/store/flush-at-once.ts',
    from: "join lease l on l.id = e.value->>'l' and l.state = 'open' and l.instance = $2",
    to: "join lease l on l.id = e.value->>'l' and l.instance = $2",
  },
  {
    name: 'an intent is not fenced, row by row',
    file: 'src/store/flush-rows.ts',
    from: "mayOpen: textOf(row, 'state') === 'open' &&",
    to: 'mayOpen:',
  },
  {
    name: 'a call that is charged with its intent is not fenced',
    file: 'src/store/flush-rows.ts',
    from: 'if (path?.mayOpen !== true || round.now',
    to: 'if (path === undefined || round.now',
  },
  {
    name: 'the reaper does not wait for late settlements',
    file: 'src/book/book.ts',
    from: 'longestCallMs: parts.longestCallMs ?? LONGEST_CALL_MS',
    to: 'longestCallMs: 0 * LONGEST_CALL_MS',
  },
  {
    name: 'a charge may exceed the hold',
    file: 'src/book/open-hold.ts',
    from: 'const charge = least(cost, this.#amount)',
    to: 'const charge = least(cost, cost)',
  },
  {
    name: 'a process does not fence itself',
    file: 'src/book/heartbeat.ts',
    from: 'fresh: () => clock.monotonicMs() < freshUntilMs',
    to: 'fresh: () => freshUntilMs > 0',
  },
  {
    name: 'a change is acknowledged at once',
    file: 'src/book/heartbeat.ts',
    from: 'if (unaware.length === 0) return',
    to: 'if (unaware.length >= 0) return',
  },
  {
    name: 'a beat claims to have seen what it did not read',
    file: 'src/store/instance-store.ts',
    from: 'statement(write, instance, seen ?? null, nudge ?? null)',
    to: 'statement(write, instance, 9e15, nudge ?? null)',
  },
  {
    name: 'a lease admits after its deadline',
    file: 'src/book/lease.ts',
    from: '!lease.tight && nowMs < lease.deadlineMs && free(lease) >= amount',
    to: '!lease.tight && nowMs < Number.POSITIVE_INFINITY && free(lease) >= amount',
  },
  {
    name: 'a lease outlives its month',
    file: 'src/store/grant.ts',
    from: 'Math.min(locked.now + grant.ttlMs, nextDayStart(line.now))',
    to: 'locked.now + grant.ttlMs + 0 * nextDayStart(line.now)',
  },
  {
    name: 'a settled call stays open',
    file: 'src/store/flush-at-once.ts',
    from: 'close: `delete from inflight where call_id in',
    to: 'close: `delete from inflight where 1 = 0 and call_id in',
  },
  {
    name: 'a settled call stays open, row by row',
    file: 'src/store/flush-rows.ts',
    from: "'delete from inflight where call_id = $1 and (lease_id",
    to: "'update inflight set spent = 0 where call_id = $1 and (lease_id",
  },
  {
    name: 'a full minute gives one more',
    file: 'src/book/rates.ts',
    from: 'window.tokens = got.taken +',
    to: 'window.tokens = Math.max(1, got.taken) +',
  },
  {
    name: 'a changed limit leaves what was leased under the old one',
    file: 'src/book/news.ts',
    from: 'if (changed.keys.size + changed.wallets.size + changed.subs.size === 0) return',
    to: 'if (changed.keys.size === 0) return',
  },
  {
    name: 'a grant under the old limit that arrives late is handed out',
    file: 'src/book/borrow.ts',
    from: 'purse.outdated = changes !== purse.changes',
    to: 'purse.outdated = changes > purse.changes',
  },
  {
    name: 'what calls leave over of an old limit serves the next',
    file: 'src/book/borrow.ts',
    from: 'if (purse.outdated && purse.lease !== undefined) await giveBack(purse.lease)',
    to: 'if (purse.outdated && purse.lease === undefined) return undefined',
  },
  {
    name: 'a lease of one sub-wallet serves another',
    file: 'src/book/room.ts',
    from: 'JSON.stringify([keyId, sub ?? null, account ?? null])',
    to: 'JSON.stringify([keyId, account ?? null])',
  },
  {
    name: 'room is returned after the ledger was told',
    file: 'src/book/borrow.ts',
    from: 'const back = takeUnused(lease)',
    to: 'const back = free(lease)',
  },
  {
    name: 'a charge is sent although its intent was given up',
    file: 'src/book/writer.ts',
    from: 'givenUp.has(op.settle.callId) ? voidInstead(op) : op',
    to: 'givenUp.has(op.settle.callId) ? (op.ends.dropped(), op) : op',
  },
  {
    name: 'the journal frees a hold that the ledger still has',
    file: 'src/book/open-hold.ts',
    from: 'kept: () => resolve({ charged: charge, remaining: undefined }),',
    to: 'kept: () => {\n          endHold(this.#lease, this.#amount, charge)\n          this.#amount = 0n\n          resolve({ charged: charge, remaining: undefined })\n        },',
  },
  {
    name: 'the journal answers before its file is synced',
    file: 'src/book/journal.ts',
    from: 'await current.file.sync()',
    to: '',
  },
  {
    name: 'the journal goes on in a file that was taken over',
    file: 'src/book/journal.ts',
    from: 'if (await current.file.isNamed()) break',
    to: 'break',
  },
  {
    name: 'the journal goes while settlements wait',
    file: 'src/book/journal.ts',
    from: 'waiting.size === 0 && ',
    to: '',
  },
  {
    name: 'the journal goes on in a file whose write failed',
    file: 'src/book/journal.ts',
    from: 'await abandon()',
    to: '',
  },
  {
    name: 'a journal left behind goes before it is in the ledger',
    file: 'src/book/book.ts',
    from: 'const charged = await Promise.all(',
    to: 'await remove()\n      const charged = await Promise.all(',
  },
  {
    name: 'the journal takes calls whose intent is in doubt',
    file: 'src/book/writer.ts',
    from: ' && !inDoubt.has(op.settle.callId)',
    to: '',
  },
  {
    name: 'a payment is settled before it is noted',
    file: 'src/payment/x402/settlement.ts',
    from: '  const payment = await store.beginPayment({',
    to: '  await facilitator.settle({ payload: presented.payload, requirements })\n  const payment = await store.beginPayment({',
  },
  {
    name: 'an unknown outcome of a payment is a no',
    file: 'src/payment/x402/settlement.ts',
    from: "if (answer.outcome === 'unknown') return { outcome: 'unknown' }",
    to: "if (first) return { outcome: 'refused', reason }",
  },
  {
    name: 'upto: all that was authorised is settled',
    file: 'src/payment/x402/settlement.ts',
    from: "scheme === 'upto' ? { ...sent.requirements, amount: units } : sent.requirements",
    to: 'sent.requirements',
  },
  {
    name: 'upto: a stream ends before it is paid',
    file: 'src/gateway/answer-stream.ts',
    from: 'await task.collect?.()',
    to: 'await Promise.resolve(undefined)',
  },
  {
    name: 'upto: an answer is repeated before it is paid',
    file: 'src/gateway/once-only.ts',
    from: '    await it.checkRepeat?.()\n',
    to: '',
  },
  {
    name: 'upto: a charge nobody pays is forgotten',
    file: 'src/store/payment-upto.ts',
    from: '  if (charged > 0n) await postIn(',
    to: '  if (charged < 0n) await postIn(',
  },
  {
    name: 'a payment pays for two calls',
    file: 'src/payment/x402/settlement.ts',
    from: "    if (known.callId !== it.callId) return { outcome: 'used' }\n",
    to: '',
  },
  {
    name: 'payments share one account',
    file: 'src/payment/x402.ts',
    from: 'paymentAccountOf(hash(',
    to: "paymentAccountOf(((_each: string) => hash('one'))(",
  },
  {
    name: 'change forgets what the call was charged',
    file: 'src/store/payment-change.ts',
    from: 'const amount = payment.amount - (used ?? 0n)',
    to: 'const amount = payment.amount',
  },
  {
    name: 'change that was given is not noted',
    file: 'src/store/payment-change.ts',
    from: "await run('update x402_payment set change_to = $2 where id = $1', [id, to])",
    to: '',
  },
  {
    name: 'an attempt answers though another was charged',
    file: 'src/book/writer.ts',
    from: 'op.safe || !result.answeredElsewhere.has(callId)',
    to: 'op.safe || callId !== undefined',
  },
]
