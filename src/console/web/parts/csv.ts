/** Files that the page made or received, on its way to the person's disk. */

/** A cell that no spreadsheet runs as a formula. */
export const csvCell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`

const save = (name: string, bytes: Blob) => {
  const address = URL.createObjectURL(bytes)
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  URL.revokeObjectURL(address)
}

/** Begins with the mark of UTF-8, as the server's CSVs do: spreadsheets need it to read names. */
export const download = (name: string, text: string) =>
  save(name, new Blob([`\ufeff${text}`], { type: 'text/csv' }))

/** A file that an act shows. */
export const downloadFile = ({ name, type, base64 }: { name: string; type: string; base64: string }) =>
  save(name, new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type }))

/** The address of an image in base64: JPEGs all begin alike. */
export const logoAddress = (logo: string): string =>
  `data:image/${logo.startsWith('/9j/') ? 'jpeg' : 'png'};base64,${logo}`
