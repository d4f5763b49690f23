/** Where vendors may say that a job has ended. Nothing in it is believed: it only makes us ask sooner. */
import { timingSafeEqual } from 'node:crypto'
import type { Gateway } from './gateway.ts'
import { askNow } from './keep-jobs.ts'

const tokenOf = ({ hash }: Pick<Gateway, 'hash'>, vendor: string, id: string): string =>
  `${id}.${hash(`hook ${vendor} ${id}`)}`

/** Undefined where this server has no public address. */
export const hookAddress = (gateway: Gateway, vendor: string, id: string): string | undefined => {
  const base = gateway.assets?.base() ?? ''
  return base.startsWith('https://') ? `${base}/hooks/${vendor}/${tokenOf(gateway, vendor, id)}` : undefined
}

/** A forged token costs one hash. */
export const wakeBy = async (gateway: Gateway, vendor: string, token: string): Promise<void> => {
  const id = token.slice(0, Math.max(0, token.indexOf('.')))
  const [ours, theirs] = [Buffer.from(tokenOf(gateway, vendor, id)), Buffer.from(token)]
  if (id === '' || ours.length !== theirs.length || !timingSafeEqual(ours, theirs)) return
  if (gateway.jobs.open.has(id)) askNow(gateway, id)
  else await gateway.store.runs.wake(id)
}
