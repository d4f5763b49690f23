/** Names of files that callers uploaded, as used in inputs and addresses: `file-` and the id of the asset. */

export const FILE_ID = /^file-([0-9a-f]{32})$/

/** The id of the asset behind the name; undefined for any other text. */
export const readFileId = (text: string): string | undefined => FILE_ID.exec(text)?.[1]

export const isFileId = (text: string): boolean => text.length < 40 && FILE_ID.test(text)

export const shownFileId = (id: string): string => `file-${id}`
