/** CSV that the page made or received, on its way to the person's disk. */

/** A cell that no spreadsheet runs as a formula. */
export const csvCell = (text: string): string =>
  `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`

/** Begins with the mark of UTF-8, as the server's CSVs do: spreadsheets need it to read names. */
export const download = (name: string, text: string) => {
  const address = URL.createObjectURL(new Blob([`\ufeff${text}`], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: address, download: name })
  link.click()
  URL.revokeObjectURL(address)
}
