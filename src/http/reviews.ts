/** /api/reviews: what accounts think of a skill, which is a model or a tool by its name. */
import { invalid } from '../core/refusal.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Review } from '../store/community-port.ts'
import { accountOf, callerOf, storable } from './caller.ts'
import { HelperRefusal } from './helper-refusal.ts'
import { readSmallBody } from './read-body.ts'
import { json } from './reply.ts'
import type { Handler } from './route.ts'

const SKILL = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$/
const COMMENT_MAX = 2_000

export const postReview: Handler = async (gateway, call) => {
  const key = await accountOf(gateway, call)
  const { skill, rating, comment } = await readSmallBody(gateway, call)
  const isSkill = typeof skill === 'string' && SKILL.test(skill)
  const isRating = typeof rating === 'number' && Number.isInteger(rating) && rating >= 1 && rating <= 5
  if (!isSkill || !isRating) throw badReview(isSkill, isRating)
  if (comment !== undefined && (typeof comment !== 'string' || comment.length > COMMENT_MAX))
    throw invalid('comment', `'comment' must be a string of at most ${COMMENT_MAX} characters.`)
  const review = await gateway.store.putReview({
    id: `rev_${gateway.newCallId().replaceAll('-', '')}`,
    skill,
    orgId: key.orgId,
    rating,
    ...(comment === undefined ? {} : { comment: storable(comment) }),
  })
  return json(shown(review), 201)
}

export const getReviews: Handler = async (gateway: Gateway, call) => {
  await callerOf(gateway, call)
  const skill = new URLSearchParams(call.query).get('skill') ?? ''
  if (!SKILL.test(skill)) throw badReview(false, true)
  const { count, sum, newest } = await gateway.store.reviews(skill)
  return json({
    skill,
    count,
    average: count === 0 ? null : Math.round((sum * 100) / count) / 100,
    reviews: newest.map(shown),
  })
}

/** The stable texts of the specification, for what is wrong. */
const badReview = (isSkill: boolean, isRating: boolean): HelperRefusal =>
  new HelperRefusal(
    isSkill ? 'rating_out_of_range' : isRating ? 'skill_required' : 'skill_and_rating',
    "'skill' is the id of a model or the name of a tool; 'rating' is a whole number from 1 to 5.",
  )

const shown = ({ id, skill, rating, comment, createdAt }: Review) => ({
  id,
  skill,
  rating,
  comment: comment ?? null,
  created_at: new Date(createdAt).toISOString(),
})
