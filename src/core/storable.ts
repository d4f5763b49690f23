/** Text that both engines can store, and text that shows nothing else than it says. */

/** PostgreSQL can store neither U+0000 nor half a surrogate pair. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** What a terminal obeys, what breaks a line, and what turns the direction of the text around it. */
const HARMS = '\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069'
const harms = new RegExp(`[${HARMS}]`, 'gu')

/** A text that has none of that. */
export const HARMLESS = new RegExp(`^[^${HARMS}]*$`, 'u')
/** The text without that. */
export const harmless = (text: string): string => text.replace(harms, '\ufffd')
