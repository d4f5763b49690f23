/** Fonts are imported as files, so that they are part of the program as one file. */
declare module '*.ttf' {
  const path: string
  export = path
}
