/**
 * When an instance counts as gone, for others to take over what it began. A job is its own instance on its own lease: no
 * process beats for it, and its own recovery ends it, so it never counts as gone.
 */
import { JOB } from '../../ledger/types.ts'

/** Whether the instance that an expression names is a process, and no job. */
export const isProcess = (instance: string): string => `${instance} not like '${JOB}%'`

/** One that has not beaten for so long has crashed, or will not answer its callers any more. */
const SILENT_MS = 3_000

/** Whether the instance that an expression names is silent. */
export const isSilent = (now: string, instance: string): string =>
  `${isProcess(instance)} and not exists (select 1 from instance i where i.id = ${instance} and i.beat_at > ${now} - ${SILENT_MS})`

/** Instances that have served and are silent; one that has not said anything yet is not. */
export const silentInstances = (now: string): string =>
  `select i.id from instance i where i.beat_at < ${now} - ${SILENT_MS}`
