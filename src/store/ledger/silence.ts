/**
 * When an instance counts as gone, so that others may take over what it began. A job is its own instance on its own
 * lease: no process sends heartbeats for it and its own recovery ends it, so it never counts as gone.
 */
import { JOB } from '../../ledger/types.ts'

/** Whether the instance in an expression is a process rather than a job. */
export const isProcess = (instance: string): string => `${instance} not like '${JOB}%'`

/** After this long without a heartbeat it has crashed, or will not answer its callers any more. */
export const SILENT_MS = 3_000

/** Whether the instance in an expression is silent. */
export const isSilent = (now: string, instance: string): string =>
  `${isProcess(instance)} and not exists (select 1 from instance i where i.id = ${instance} and i.beat_at > ${now} - ${SILENT_MS})`

/** Instances that have served and are now silent; one that has not reported yet is not among them. */
export const silentInstances = (now: string): string =>
  `select i.id from instance i where i.beat_at < ${now} - ${SILENT_MS}`
