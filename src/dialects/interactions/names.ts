/** Interactions, their names. Here they are ours whoever made the answer: Google names none that it does not store. */

const PREFIX = 'int_'

/** Whether an id is that of an interaction. */
export const isInteractionId = (id: string): boolean => id.startsWith(PREFIX)

/** The name of the answer to a call. */
export const interactionIdOf = (callId: string): string => `${PREFIX}${callId.replaceAll(/[^\w]/g, '')}`
