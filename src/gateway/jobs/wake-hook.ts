/** Where vendors may say that a job has ended. Its content is not trusted: it only makes us ask sooner. */
import { isOurs } from '../../core/keyed-hash.ts'
import type { Gateway } from '../parts/gateway.ts'
import { askNow } from './keep-jobs.ts'

const provenBy = (vendor: string, id: string): string => `hook ${vendor} ${id}`

/** Undefined when this server has no public address. */
export const hookAddress = (gateway: Gateway, vendor: string, id: string): string | undefined => {
  const base = gateway.assets?.base() ?? ''
  return base.startsWith('https://')
    ? `${base}/hooks/${vendor}/${id}.${gateway.hash(provenBy(vendor, id))}`
    : undefined
}

/** Rejecting a forged token costs one hash. */
export const wakeBy = async (gateway: Gateway, vendor: string, token: string): Promise<void> => {
  const id = token.slice(0, Math.max(0, token.indexOf('.')))
  if (id === '' || !isOurs(gateway.hash, provenBy(vendor, id), token.slice(id.length + 1))) return
  if (gateway.memory.jobs.open.has(id)) askNow(gateway, id)
  else await gateway.store.runs.wake(id)
}
