/** Style files, which the bundler accepts as imports. */
declare module '*.css'
