/** Which npm packages this installation has. */

const found = (name: string): boolean => {
  try {
    Bun.resolveSync(name, import.meta.dir)
    return true
  } catch {
    return false
  }
}

/** sharp cannot be loaded without the binary for its platform. */
const binaries = ['', 'musl'].map((libc) => `@img/sharp-${process.platform}${libc}-${process.arch}/package`)

/** Packages that are code alone, and so are inside the one file of a release. */
const codeAlone = ['mediabunny', 'qrcode-generator']

/** Whether a package can be loaded. */
export const hasPackage = (name: string): boolean => {
  if (Bun.isStandaloneExecutable && codeAlone.includes(name)) return true
  if (name === '@tesseract.js-data/eng') return found(`${name}/package.json`)
  return found(name) && (name !== 'sharp' || binaries.some(found))
}
