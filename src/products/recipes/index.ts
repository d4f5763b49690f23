/** All recipes, by name. */
import { libraryRecipes } from './libraries.ts'
import { payerRecipes } from './payers.ts'
import { programRecipes } from './programs.ts'
import type { Recipe } from './recipe.ts'

export const recipes: readonly Recipe[] = [...programRecipes, ...libraryRecipes, ...payerRecipes]
