/** Commands of a call's life: opened, extended, settled, void, repeated, late. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Nano } from '../../src/core/money.ts'
import { compare, type ModelCall } from './model.ts'
import { batchOf, CENT, type Command, commit, detailFor, mine, most, pick, running, saw } from './world.ts'

export const open: Command = async (world, { a, b }) => {
  const { model, n } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const hold = (model.idleOn(lease) * BigInt(b % 101)) / 100n
  const intent = { callId: `c${n}`, leaseId: lease.id, hold }
  deepEqual(
    [...(await commit(world, batchOf(lease.instance, { intents: [intent] }))).opened],
    [intent.callId],
  )
  model.calls.push({ id: intent.callId, lease, hold, spent: 0n, open: true, refunded: 0n })
}

export const openFenced: Command = async (world, { a }) => {
  const { model, n } = world
  const lease =
    pick(
      model.leases.filter(({ state }) => state !== 'open'),
      a,
    ) ?? pick(model.leases, a)
  if (lease === undefined) return
  const instance = lease.state === 'open' ? 'stranger' : lease.instance
  const intent = { callId: `c${n}`, leaseId: lease.id, hold: 0n }
  equal((await commit(world, batchOf(instance, { intents: [intent] }))).opened.size, 0)
  saw(world, `fenced: ${lease.state}`)
}

export const extend: Command = async (world, { a, b, c }) => {
  const { model } = world
  const call = running(world, a)
  if (call === undefined) return
  const { lease } = call
  const hold =
    call.hold + (lease.state === 'open' ? (model.idleOn(lease) * BigInt(b % 101)) / 100n : BigInt(b % 2))
  const spent = (hold * BigInt(c % 120)) / 100n
  const may = lease.state === 'open' || hold === call.hold
  const { extended } = await commit(
    world,
    batchOf(lease.instance, { progress: [{ callId: call.id, hold, spent }] }),
  )
  equal(extended.has(call.id), may)
  if (!may) return saw(world, 'extension fenced')
  call.hold = hold
  call.spent = most(call.spent, spent)
}

/** An extension moves the whole hold to another lease of the instance, where there is room; also into another day. */
export const moves: Command = async (world, { a, b, c }) => {
  const { model } = world
  const others = (call: ModelCall) =>
    model.leases.filter(
      (one) => one !== call.lease && one.key === call.lease.key && (b % 5 === 0 || mine(world, one)),
    )
  const call = pick(
    model.calls.filter((one) => one.open && others(one).length > 0),
    a,
  )
  const to = call && pick(others(call), b)
  if (call === undefined || to === undefined) return
  const may = to.state === 'open' && to.instance === call.lease.instance && model.idleOn(to) >= call.hold
  // The memory side must not ask for what the ledger would let through: it never moves without room.
  if (to.state === 'open' && to.instance === call.lease.instance && !may) return
  const hold = may ? call.hold + ((model.idleOn(to) - call.hold) * BigInt(c % 101)) / 100n : call.hold
  const progress = { callId: call.id, hold, spent: call.spent, leaseId: to.id }
  const { extended } = await commit(world, batchOf(call.lease.instance, { progress: [progress] }))
  equal(extended.has(call.id), may)
  if (!may) return saw(world, 'move fenced')
  if (call.lease.state === 'quarantined') saw(world, 'moved out of quarantine')
  call.lease = to
  call.hold = hold
  saw(world, 'moved')
}

const settleOf = (call: ModelCall, charge: Nano) => ({
  callId: call.id,
  leaseId: call.lease.id,
  payer: call.lease.key.wallet,
  charge,
  excess: charge % 3n,
  detail: detailFor(call.lease.key.id, { usage: { input: 3, output: 4 } }),
})

export const settle: Command = async (world, { a, b }) => {
  const { model } = world
  const call = running(world, a)
  if (call === undefined) return
  if (call.lease.state === 'quarantined') saw(world, 'settled in quarantine')
  const charge = (call.hold * BigInt(b % 101)) / 100n
  call.settle = settleOf(call, charge)
  // No more than the hold is charged, whatever is asked.
  if (charge === call.hold) call.settle = settleOf(call, charge + 7n)
  call.open = false
  call.charged = charge
  call.lease.left -= charge
  model.charge(call.lease, charge)
  const { settled } = await commit(world, batchOf(call.lease.instance, { settles: [call.settle] }))
  deepEqual([...settled], [[call.id, model.posted.get(call.lease.key.wallet)]])
}

export const settleTwice: Command = async (world, { a, b }) => {
  const call = pick(
    world.model.calls.filter(({ charged }) => charged !== undefined),
    a,
  )
  if (call === undefined) return
  // As the same attempt, whatever it says now, or as another one, which may cost the same.
  const other = b % 2 === 1
  const again = settleOf(call, (call.charged ?? 0n) + BigInt(b % 5))
  if (other) again.leaseId = `${call.lease.id}, another`
  const batch = batchOf(call.lease.instance, { settles: [again] })
  const { settled, answeredElsewhere } = await commit(world, batch)
  ok(settled.has(call.id))
  // Recovered calls were charged for no answer.
  const [posted] = await world.store.ledger.transfersOf(call.id)
  equal(answeredElsewhere.has(call.id), posted?.note !== 'recovered' && other)
  const intent = { callId: call.id, leaseId: call.lease.id, hold: 0n }
  if (mine(world, call.lease))
    equal((await commit(world, batchOf(call.lease.instance, { intents: [intent] }))).opened.size, 0)
}

export const settleLate: Command = async (world, { a, b }) => {
  const { model } = world
  const call = pick(
    model.calls.filter(
      ({ open, charged, lease }) => !open && charged === undefined && lease.state === 'closed',
    ),
    a,
  )
  if (call === undefined) return
  const charge = BigInt(b % 40) * CENT
  const caps = model
    .limits(call.lease.key, call.lease.sub)
    .filter(({ name }) => name !== 'stop_at_remaining_usd')
  // The model's limits are those of this day; a late call counts in its own.
  if (call.lease.day !== model.day) return
  const fits = !call.lease.pruned && caps.every(({ room }) => room >= charge)
  saw(world, fits ? 'late settlement charged' : 'late settlement written off')
  const { settled } = await commit(world, batchOf(call.lease.instance, { settles: [settleOf(call, charge)] }))
  if (fits) model.charge(call.lease, charge)
  call.charged = fits ? charge : 0n
  deepEqual([...settled], [[call.id, model.posted.get(call.lease.key.wallet)]])
}

export const voids: Command = async (world, { a }) => {
  const call = running(world, a)
  if (call === undefined) return
  await commit(world, batchOf('stranger', { voids: [call.id] }))
  await compare(world.model, world.store)
  await commit(world, batchOf(call.lease.instance, { voids: [call.id] }))
  call.open = false
}

export const several: Command = async (world, { a, b }) => {
  const { model, n } = world
  const lease = pick(
    model.leases.filter((one) => mine(world, one)),
    a,
  )
  if (lease === undefined) return
  const hold = model.idleOn(lease) / 3n
  const call = (part: string): ModelCall => ({
    id: `c${n}${part}`,
    lease,
    hold,
    spent: 0n,
    open: false,
    refunded: 0n,
  })
  const [kept, charged, dropped] = [call('k'), call('s'), call('v')]
  const intents = [kept, charged, dropped].map(({ id }) => ({ callId: id, leaseId: lease.id, hold }))
  const charge = (hold * BigInt(b % 101)) / 100n
  const other = model.calls.find(({ open, lease: on }) => open && on.instance === lease.instance)
  const result = await commit(
    world,
    batchOf(lease.instance, {
      intents,
      settles: [settleOf(charged, charge)],
      voids: [dropped.id],
      progress: other === undefined ? [] : [{ callId: other.id, hold: other.hold, spent: other.spent }],
    }),
  )
  equal(result.opened.size, 3)
  equal(result.extended.size, other === undefined ? 0 : 1)
  kept.open = true
  charged.charged = charge
  lease.left -= charge
  model.calls.push(kept, charged, dropped)
  model.charge(lease, charge)
  equal(result.settled.get(charged.id), model.posted.get(lease.key.wallet))
}

/** A lost answer: the batch is sent again, word for word. */
export const resend: Command = async ({ store, last, model }) => {
  if (last === undefined) return
  const { opened, settled } = await store.ledger.commit(last)
  for (const { callId } of last.settles)
    ok(settled.has(callId) || model.calls.every(({ id }) => id !== callId))
  for (const { callId } of last.intents) {
    const call = model.calls.find(({ id }) => id === callId)
    // A void call may be opened by a repeat, and is then void again by the same batch.
    const settling = last.settles.some((settle) => settle.callId === callId)
    if (call?.open === true || (call?.charged !== undefined && settling)) ok(opened.has(callId))
    else if (call?.charged !== undefined) ok(!opened.has(callId))
    else if (opened.has(callId)) await store.ledger.commit(batchOf(last.instance, { voids: [callId] }))
  }
}
