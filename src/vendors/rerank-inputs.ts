/**
 * The inputs that Cohere's and Jina's reranking share. Sources: Cohere API reference, "Rerank (v2)"; api.jina.ai,
 * "Rerank".
 */
import { z } from 'zod'
import type { Inputs } from '../media/shape.ts'

const DOCUMENTS_MAX = 1_000

export const rerankInputs = z.strictObject({
  query: z.string().min(1).max(10_000),
  documents: z.array(z.string().min(1).max(100_000)).min(1).max(DOCUMENTS_MAX),
  top_n: z.int().min(1).max(DOCUMENTS_MAX).optional(),
})

export const documentsOf = ({ documents }: Inputs): readonly string[] =>
  Array.isArray(documents) ? documents.map(String) : []

export const rerankExample = { query: 'fox', documents: ['a fox in snow', 'a dog'], top_n: 1 }
