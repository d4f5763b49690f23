/** When an instance counts as gone, for others to take over what it began. */

/** One that has not beaten for so long has crashed, or will not answer its callers any more. */
const SILENT_MS = 3_000

/** Whether the instance that an expression names is silent. */
export const isSilent = (now: string, instance: string): string =>
  `not exists (select 1 from instance i where i.id = ${instance} and i.beat_at > ${now} - ${SILENT_MS})`

/** Instances that have served and are silent; one that has not said anything yet is not. */
export const silentInstances = (now: string): string =>
  `select i.id from instance i where i.beat_at < ${now} - ${SILENT_MS}`
