/** A page in the navigation, with the acts of which one is needed to see it. */
export type Place = { readonly to: string; readonly name: string; readonly acts?: readonly string[] }
