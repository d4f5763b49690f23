/** Styles that the bundler takes. */
declare module '*.css'
