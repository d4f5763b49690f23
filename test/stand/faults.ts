/** What happens to the stand, one after the other. */
import { join } from 'node:path'
import { until } from '../until.ts'
import type { Cell } from './cell.ts'
import type { Fault } from './fault.ts'
import { movedWhile } from './moves.ts'
import { type Member, TTL_SECONDS } from './pair.ts'
import { isRoot, type Program } from './programs.ts'

/** Longer than a leader's place lasts, so that only failsafe_mode keeps it. */
const ETCD_SECONDS = TTL_SECONDS + 10

/** A primary that is lost, in each of these cells; it comes back as a standby once the other has taken over. */
const losing = (name: string, cells: readonly Cell[], lose: (member: Member) => Promise<void>): Fault => {
  const lost = new Map<Cell, Member>()
  return {
    name,
    cells,
    strike: async () => {
      for (const cell of cells) lost.set(cell, await cell.pair.primary())
      await Promise.all([...lost.values()].map(lose))
    },
    heal: async () => {
      for (const [cell, member] of lost) {
        await until(async () => (await cell.pair.primary().catch(() => member)) !== member, 250)
        member.patroni.start()
      }
    },
  }
}

/** A program that is killed and started again. */
const restarted = (name: string, cells: readonly Cell[], program: Program, seconds: number): Fault => ({
  ...{ name, cells, seconds },
  strike: () => program.kill(),
  heal: async () => program.start(),
})

const wires = (name: string, cell: Cell, fault: 'stall' | 'reset', count: number): Fault => {
  const set = (to: 'stall' | 'reset' | 'none') => async () => {
    for (const { wire } of cell.gateways.slice(0, count)) wire.set(to)
  }
  return { name, cells: [cell], strike: set(fault), heal: set('none') }
}

/** The primary's disk, which is one of memory. */
const fullDisk = (cell: Cell): Fault => {
  let ballast = ''
  return {
    name: 'disk of the primary full',
    cells: [cell],
    strike: async () => {
      ballast = join((await cell.pair.primary()).disk, 'ballast')
      Bun.spawnSync(['dd', 'if=/dev/zero', `of=${ballast}`, 'bs=1M'])
    },
    heal: async () => void Bun.spawnSync(['rm', ballast]),
  }
}

type Stand = { readonly cells: readonly [Cell, Cell]; readonly router: Program; readonly etcd: Program }

/** All, in their order. */
export const faultsOf = ({ cells, router, etcd }: Stand): readonly Fault[] => {
  const [first, second] = cells
  const loseMachine = (member: Member) => member.lose()
  let standby: Member | undefined
  return [
    { name: 'nothing', cells, strike: async () => undefined },
    { name: 'switchover', cells: [first], strike: first.pair.switchOver },
    {
      name: 'kill -9 of the primary PostgreSQL',
      cells: [second],
      strike: async () => {
        process.kill((await second.pair.primary()).postmaster() ?? 0, 'SIGKILL')
      },
    },
    losing("the primary's machine lost", [first], loseMachine),
    // With SYNC=require it does not start again before the new primary has a standby.
    losing("the primary's machine lost, and a gateway", [first], async (member) => {
      await Promise.all([member.lose(), first.gateways[0]?.program.kill()])
    }),
    {
      name: "the standby's machine lost",
      cells: [second],
      strike: async () => {
        standby = await second.pair.standby()
        await standby.lose()
      },
      heal: async () => standby?.patroni.start(),
    },
    losing("kill -9 of the primary's Patroni", [second], ({ patroni }) => patroni.kill()),
    restarted('kill -9 of etcd, for longer than the TTL', cells, etcd, ETCD_SECONDS),
    restarted('kill -9 of HAProxy', [first], first.pair.haproxy, 3),
    {
      name: 'kill -9 of a gateway',
      cells: [second],
      strike: async () => second.gateways[0]?.program.kill(),
    },
    { name: 'kill -9 of the router', cells, strike: () => router.kill() },
    losing("both cells' primaries lost", cells, loseMachine),
    wires('wire of one gateway held', first, 'stall', 1),
    wires('wires of both gateways held', second, 'stall', 2),
    wires('wires of both gateways reset', first, 'reset', 2),
    ...(isRoot ? [fullDisk(second)] : []),
    movedWhile({
      ...{ payer: first.once, from: first, to: second, told: 'its calls wait' },
      blow: { name: 'switchover', strike: first.pair.switchOver },
    }),
    movedWhile({
      ...{ payer: first.once, from: second, to: first, told: 'its balance has left' },
      blow: losing('loss', [second], loseMachine),
    }),
  ]
}
