/** Reviews of skills: one an account and skill, with their average. */
import type { Review, ReviewStore } from './community-port.ts'
import { type Engine, once, type Row, statement } from './engine.ts'
import { countOf, maybeText, onlyRow, textOf } from './row.ts'

const NEWEST = 50

const reviewOf = (row: Row): Review => {
  const comment = maybeText(row, 'comment')
  return {
    id: textOf(row, 'id'),
    skill: textOf(row, 'skill'),
    rating: countOf(row, 'rating'),
    ...(comment === undefined ? {} : { comment }),
    createdAt: countOf(row, 'created_at'),
  }
}

export const reviewStore = (engine: Engine): ReviewStore => ({
  putReview: async ({ id, skill, orgId, rating, comment }) =>
    reviewOf(
      onlyRow(
        await once(
          engine,
          'control',
          statement(
            `insert into review (id, skill, org_id, rating, comment, created_at)
             values ($1, $2, $3, $4, $5, ${engine.words.now})
             on conflict (skill, org_id) do update set id = excluded.id, rating = excluded.rating,
               comment = excluded.comment, created_at = excluded.created_at
             returning *`,
            id,
            skill,
            orgId,
            rating,
            comment ?? null,
          ),
        ),
      ),
    ),
  reviews: async (skill) => {
    const [sums = [], newest = []] = await engine.batch('control', [
      statement(
        `select cast(count(*) as bigint) as many, coalesce(cast(sum(rating) as bigint), 0) as total
         from review where skill = $1`,
        skill,
      ),
      statement(
        `select * from review where skill = $1 order by created_at desc, id desc limit ${NEWEST}`,
        skill,
      ),
    ])
    const sum = onlyRow(sums)
    return { count: countOf(sum, 'many'), sum: countOf(sum, 'total'), newest: newest.map(reviewOf) }
  },
})
