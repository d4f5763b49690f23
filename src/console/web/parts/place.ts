/** A page in the navigation; one of the acts is needed to see it. */
export type Place = { readonly to: string; readonly name: string; readonly acts?: readonly string[] }
