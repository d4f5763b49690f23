/** SQL files are imported as text, so that they are part of a bundle. */
declare module '*.sql' {
  const text: string
  export = text
}
