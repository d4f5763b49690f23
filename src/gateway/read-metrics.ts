/** The metrics of this process: what it has counted, and its state at the time of the request. */
import { type Reading, type Snapshot, snapshotOf } from '../metrics/snapshot.ts'
import { restsOf } from '../routing/deployments.ts'
import type { Gateway, Watch } from './parts/gateway.ts'
import { heldByJobs } from './parts/jobs.ts'

const SECOND_MS = 1_000

/** The series of this process alone; none if nothing is counted. */
export const ownMetrics = (gateway: Gateway): Snapshot => {
  const { meters, metrics } = gateway.watch
  if (meters === undefined) return {}
  return snapshotOf(meters.registry, [
    ...(metrics?.ofProcess() ?? []),
    ...ofBook(gateway),
    ...ofCapacity(gateway),
    ...ofExport(gateway.watch),
    ...(gateway.watch.house?.readings() ?? []),
    ...ofConfig(gateway),
    ...ofVendors(gateway),
  ])
}

const ofBook = ({ book, memory, watch: { books, standby, replica } }: Gateway): readonly Reading[] => {
  const health = book.health()
  const { count, room, held } = book.leased()
  const jobs = heldByJobs(memory.jobs)
  return [
    ['inTouch', Number(health.fresh)],
    ['beatAge', health.beatAgeMs / SECOND_MS],
    ['draining', Number(health.draining)],
    ['instances', health.instances],
    ['holds', health.openCalls + jobs.count],
    ['queued', health.queued],
    ['queueAge', health.oldestQueuedMs / SECOND_MS],
    ['leases', count],
    ['leased', room],
    ['held', held + jobs.held],
    ['journal', health.journal],
    ...(books === undefined ? [] : [['booksOk', Number(books.trouble() === undefined)] as const]),
    ...(standby === undefined ? [] : [['standbyOk', Number(standby.trouble() === undefined)] as const]),
    ...(replica === undefined ? [] : [['replicaOk', Number(replica.trouble() === undefined)] as const]),
    ...(replica?.lagMs() === undefined ? [] : [['replicaLag', (replica.lagMs() ?? 0) / SECOND_MS] as const]),
  ]
}

const ofCapacity = ({ capacity }: Gateway): readonly Reading[] => [
  ['openCalls', capacity.calls.used()],
  ['openStreams', capacity.streams],
  ['openSockets', capacity.sockets.used()],
  ['bytes', capacity.bytes.used()],
]

const ofExport = ({ exporting }: Watch): readonly Reading[] =>
  exporting === undefined
    ? []
    : [
        ['exportLag', exporting.lagMs() / SECOND_MS],
        ['exportFailures', exporting.failures()],
      ]

const ofConfig = ({ config }: Gateway): readonly Reading[] => {
  if (config === undefined) return []
  const { refused, appliedAt, reloads, needsRestart } = config.status()
  return [
    ['configOk', Number(refused === undefined)],
    ['configApplied', appliedAt / SECOND_MS],
    ['configReloads', reloads],
    ['configRestart', Number(needsRestart.length > 0)],
  ]
}

/** Vendors in order; if there are more than fit, the last are left out. */
const ofVendors = ({ offering: { vendors, traffic }, clock }: Gateway): readonly Reading[] => {
  const nowMs = clock.monotonicMs()
  return [...vendors].flatMap(([id, setup]): Reading[] => {
    const rests = restsOf(setup, traffic, nowMs)
    return [
      ['vendorKeys', rests.length, [id]],
      ['restingKeys', rests.filter((restMs) => restMs > 0).length, [id]],
      ...rests.map((restMs, at): Reading => ['keyRest', Math.max(0, restMs) / SECOND_MS, [id, String(at)]]),
    ]
  })
}
