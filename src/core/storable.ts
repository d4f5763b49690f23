/** Text that both engines can store. */

/** PostgreSQL can store neither U+0000 nor half a surrogate pair. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')
