/** Reviews of skills: one for each account and skill, with their average. */

import { followedBy, integer, maybe, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once, type Row, statement } from '../engine/engine.ts'
import { countOf, onlyRow } from '../engine/row.ts'
import type { Review, ReviewStore } from './community-port.ts'

const NEWEST = 50

const reviews = rowsOf({
  id: text('id'),
  skill: text('skill'),
  orgId: text('org_id'),
  rating: integer('rating'),
  comment: maybe(text('comment')),
  createdAt: integer('created_at'),
})

const reviewOf = (row: Row): Review => {
  const { orgId: _orgId, ...review } = reviews.read(row)
  return review
}

export const reviewStore = (engine: Engine): ReviewStore => ({
  putReview: async (review) => {
    const put = followedBy(
      reviews.insert('review', { comment: undefined, ...review }, { created_at: engine.dialect.now }),
      `on conflict (skill, org_id) do update set id = excluded.id, rating = excluded.rating,
         comment = excluded.comment, created_at = excluded.created_at
       returning *`,
    )
    return reviewOf(onlyRow(await once(engine, 'control', put)))
  },
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
